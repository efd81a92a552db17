// Each layer: gradients, members and state by check_layer, values by the function that it stands for.
#include <tern/nn/check_layer.h>
#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/losses.h>
#include <tern/nn/sequential.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {
const Tensor images = scattered({2, 4, 5, 6}, -2, 2, float32);
const Tensor rows = scattered({3, 5}, -2, 2, float32);
}  // namespace

TEST_CASE("Linear") {
  nn::check_layer(nn::Linear(5, 3), rows);
  nn::check_layer(nn::Linear(5, 3, {.bias = false}), rows);
  nn::check_layer(nn::Linear(6, 2), images);
  nn::check_layer(nn::Linear(5, 3), scattered({5}));
  nn::Linear layer(5, 3);
  CHECK(equal(layer(rows), linear(rows, layer.weight, layer.bias)));
  CHECK(layer(scattered({2, 7, 5}, -1, 1, float32)).shape() == Shape{2, 7, 3});
  CHECK(fails_with("[3, 5]", [&] { layer(scattered({2, 4}, -1, 1, float32)); }));
  CHECK(nn::Linear(0, 2).weight.shape() == Shape{2, 0});
  CHECK(fails_with("Linear: features must not be negative, got -1 and 2", [] { nn::Linear(-1, 2); }));
  CHECK(fails_with("Linear: features must not be negative, got 2 and -1", [] { nn::Linear(2, -1); }));
}

TEST_CASE("Conv2d") {
  nn::check_layer(nn::Conv2d(4, 3, 3), images);
  nn::check_layer(nn::Conv2d(4, 3, {2, 3}, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {2, 1}}),
                  images);
  nn::check_layer(nn::Conv2d(4, 6, 3, {.groups = 2, .bias = false}), images);
  nn::check_layer(nn::Conv2d(4, 2, 1), scattered({4, 3, 3}));
  nn::Conv2d layer(4, 3, 3, {.stride = 2, .padding = 1});
  CHECK(layer.weight.shape() == Shape{3, 4, 3, 3});
  CHECK(nn::Conv2d(4, 6, {1, 2}, {.groups = 2}).weight.shape() == Shape{6, 2, 1, 2});
  CHECK(equal(layer(images), conv2d(images, layer.weight, layer.bias, {.stride = 2, .padding = 1})));
  CHECK(fails_with("Conv2d: 4 input and 3 output channels must be multiples of groups = 2",
                   [] { nn::Conv2d(4, 3, 3, {.groups = 2}); }));
  CHECK(fails_with("groups = 0", [] { nn::Conv2d(4, 3, 3, {.groups = 0}); }));
  CHECK(fails_with("groups = -2", [] { nn::Conv2d(4, 2, 3, {.groups = -2}); }));
  CHECK(fails_with("Conv2d: channels must not be negative, got -3 and 4", [] { nn::Conv2d(-3, 4, 3); }));
  CHECK(fails_with("Conv2d: channels must not be negative, got 3 and -4", [] { nn::Conv2d(3, -4, 3); }));
  const auto refuses = [](const std::string& part, Size2 kernel, const nn::Conv2dOptions& options) {
    return fails_with("Conv2d: " + part, [&] { nn::Conv2d(3, 4, kernel, options); });
  };
  CHECK(refuses("kernel must be from 1 to 2^31 - 1, got (0, 0)", 0, {}));
  CHECK(refuses("kernel must be from 1 to 2^31 - 1, got (3, -1)", {3, -1}, {}));
  CHECK(refuses("stride must be from 1 to 2^31 - 1, got (0, 0)", 3, {.stride = 0}));
  CHECK(refuses("stride must be from 1 to 2^31 - 1, got (2, -1)", 3, {.stride = {2, -1}}));
  CHECK(refuses("dilation must be from 1 to 2^31 - 1, got (0, 0)", 3, {.dilation = 0}));
  CHECK(refuses("padding must be from 0 to 2^31 - 1, got (-1, -1)", 3, {.padding = -1}));
  constexpr int64_t huge = int64_t{1} << 40;
  CHECK(fails_with("kernel must be from 1 to 2^31 - 1", [] { nn::Conv2d(3, 0, {huge, huge}); }));
}

TEST_CASE("Conv1d and ConvTranspose2d") {
  const Tensor lines = scattered({2, 4, 7}, -2, 2, float32);
  nn::check_layer(nn::Conv1d(4, 6, 3, {.stride = 2, .padding = 1, .dilation = 2, .groups = 2}), lines);
  nn::check_layer(nn::Conv1d(4, 3, 2, {.bias = false}), lines);
  nn::check_layer(
      nn::ConvTranspose2d(4, 6, {3, 2}, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}),
      images);
  nn::check_layer(nn::ConvTranspose2d(4, 3, 2, {.bias = false, .dilation = 2}), images);
  CHECK(nn::Conv1d(4, 6, 3, {.groups = 2}).weight.shape() == Shape{6, 2, 3});
  const nn::ConvTranspose2d transposed(4, 6, {3, 2}, {.groups = 2});
  CHECK(transposed.weight.shape() == Shape{4, 3, 3, 2});
  CHECK(transposed.bias.shape() == Shape{6});
  const double bound = std::sqrt(1.0 / (3 * 3 * 2));
  for (const double value : values_of(transposed.weight)) REQUIRE(std::abs(value) <= bound);
  CHECK(fails_with("Conv1d: 4 input and 3 output channels", [] { nn::Conv1d(4, 3, 3, {.groups = 2}); }));
  CHECK(fails_with("ConvTranspose2d: 4 input", [] { nn::ConvTranspose2d(4, 3, 3, {.groups = 2}); }));
}

TEST_CASE("pooling layers") {
  nn::check_layer(nn::AvgPool2d(2), images);
  nn::check_layer(nn::AvgPool2d({3, 2}, {.stride = Size2(1, 2), .padding = 1, .ceil_mode = true}), images);
  nn::check_layer(nn::AdaptiveAvgPool2d(1), images);
  nn::check_layer(nn::AdaptiveAvgPool2d({std::nullopt, 4}), images);
  nn::check_layer(nn::MaxPool1d(2, {.stride = 1}), scattered({2, 4, 7}, -2, 2, float32));
  CHECK(nn::AvgPool2d(2)(images).shape() == Shape{2, 4, 2, 3});
  CHECK(nn::AdaptiveAvgPool2d({3, 2})(images).shape() == Shape{2, 4, 3, 2});
}

TEST_CASE("activations and shapes") {
  nn::check_layer(nn::ReLU(), images);
  nn::check_layer(nn::Tanh(), images);
  nn::check_layer(nn::Identity(), images);
  nn::check_layer(nn::Sigmoid(), images);
  nn::check_layer(nn::SiLU(), images);
  nn::check_layer(nn::LeakyReLU(0.2), images);
  nn::check_layer(nn::ELU(0.5), images);
  nn::check_layer(nn::GELU(), images);
  nn::check_layer(nn::GELU(GeluApproximation::tanh), images);
  nn::check_layer(nn::Softplus(2, 10), images);
  nn::check_layer(nn::Softmax(1), images);
  for (const int64_t dim : {0, 1, -1}) nn::check_layer(nn::LogSoftmax(dim), images);
  nn::check_layer(nn::Flatten(), images);
  nn::check_layer(nn::Flatten(0, 2), images);
  nn::check_layer(nn::MaxPool2d(2), images);
  nn::check_layer(nn::MaxPool2d({3, 2}, {.stride = Size2(1, 2), .padding = 1, .ceil_mode = true}), images);
  CHECK(nn::Flatten()(images).shape() == Shape{2, 120});
  CHECK(nn::Flatten(0, 2)(images).shape() == Shape{40, 6});
  CHECK(nn::MaxPool2d(2)(images).shape() == Shape{2, 4, 2, 3});
  CHECK(nn::MaxPool2d(2, {.stride = 1})(images).shape() == Shape{2, 4, 4, 5});
  nn::check_layer(nn::Upsample({.scale_factor = 2}), images);
  CHECK(equal(nn::Upsample({.size = 3, .mode = InterpolateMode::bilinear})(images),
              interpolate(images, {.size = 3, .mode = InterpolateMode::bilinear})));
  CHECK(equal(nn::LogSoftmax(1)(images), log_softmax(images, 1)));
  CHECK(equal(nn::LeakyReLU(0.2)(images), leaky_relu(images, 0.2)));
  CHECK(equal(nn::ELU(0.5)(images), elu(images, 0.5)));
  CHECK(equal(nn::GELU(GeluApproximation::tanh)(images), gelu(images, GeluApproximation::tanh)));
  CHECK(equal(nn::Softplus(2, 1)(images), softplus(images, 2, 1)));
  CHECK(equal(nn::Softmax(1)(images), softmax(images, 1)));
}

TEST_CASE("what the call of a layer would refuse, its constructor does") {
  const auto pool = [](const std::string& part, Size2 kernel, const MaxPool2dOptions& options) {
    return fails_with("MaxPool2d: " + part, [&] { nn::MaxPool2d(kernel, options); });
  };
  CHECK(pool("kernel must be from 1 to 2^31 - 1, got (0, 0)", 0, {}));
  CHECK(pool("kernel must be from 1 to 2^31 - 1, got (2, -2)", {2, -2}, {}));
  CHECK(pool("stride must be from 1 to 2^31 - 1, got (0, 0)", 2, {.stride = 0}));
  CHECK(pool("dilation must be from 1 to 2^31 - 1, got (1, 0)", 2, {.dilation = {1, 0}}));
  CHECK(pool("padding must be from 0 to 2^31 - 1, got (-1, -1)", 2, {.padding = -1}));
  CHECK(pool("padding must be at most half of the kernel (2, 2) with its dilation, got (2, 2)", 2,
             {.padding = 2}));
  CHECK(fails_with("LogSoftmax: dim must be from -8 to 7, got 8", [] { nn::LogSoftmax(8); }));
  CHECK(fails_with("Flatten: start_dim 3 comes after end_dim 1", [] { nn::Flatten(3, 1); }));
  CHECK(fails_with("Flatten: start_dim -1 comes after end_dim -2", [] { nn::Flatten(-1, -2); }));
  CHECK(fails_with("Dropout: p must be from 0 to 1, got nan", [] { nn::Dropout(NAN); }));
  CHECK(fails_with("CrossEntropyLoss: label_smoothing must be from 0 to 1, got 1.5",
                   [] { nn::CrossEntropyLoss({.label_smoothing = 1.5}); }));
}

TEST_CASE("Dropout drops in training alone, a part near p, and scales the rest") {
  nn::check_layer(nn::Dropout(0.5), images);
  nn::check_layer(nn::Dropout(0), images);
  nn::Dropout layer(0.25);
  const Tensor x = scattered({100, 100}, 1, 2, float32);
  manual_seed(3);
  const std::vector<double> before = values_of(x), after = values_of(layer(x));
  int64_t dropped = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i] == 0)
      ++dropped;
    else
      REQUIRE(after[i] == doctest::Approx(before[i] / 0.75));
  }
  CHECK(dropped > 2300);  // six deviations from 2500
  CHECK(dropped < 2700);
  layer.eval();
  CHECK(equal(layer(x), x));
  CHECK(fails_with("Dropout: p must be from 0 to 1, got 1.5", [] { nn::Dropout(1.5); }));
  CHECK(fails_with("Dropout: p must be from 0 to 1, got -0.5", [] { nn::Dropout(-0.5); }));
}

TEST_CASE("Dropout2d drops in training alone") {
  nn::check_layer(nn::Dropout2d(0.5), images);
  nn::Dropout2d layer(1);
  CHECK(equal(layer(images), images * 0));
  layer.eval();
  CHECK(equal(layer(images), images));
  CHECK(fails_with("Dropout2d: p must be from 0 to 1, got 1.5", [] { nn::Dropout2d(1.5); }));
}

TEST_CASE("losses of two tensors of one shape") {
  const Tensor target = scattered({3, 5}, 0.1, 0.9, float32), probable = target * 0.9 + 0.05;
  const Tensor weight = scattered({5}, 0.5, 2, float32);
  nn::check_layer(nn::MSELoss(), rows, target);
  nn::check_layer(nn::L1Loss(Reduction::sum), rows + 0.001, target);
  nn::check_layer(nn::SmoothL1Loss({.beta = 0.5}), rows, target);
  nn::check_layer(nn::HuberLoss({.delta = 0.5, .reduction = Reduction::none}), rows, target);
  nn::check_layer(nn::BCELoss({.weight = weight}), probable, target);
  nn::check_layer(nn::BCEWithLogitsLoss({.weight = weight, .pos_weight = weight}), rows, target);
  nn::check_layer(nn::KLDivLoss({.reduction = KLDivReduction::batchmean}), rows, target);
  CHECK(equal(nn::MSELoss(Reduction::sum)(rows, target), mse_loss(rows, target, Reduction::sum)));
  CHECK(equal(nn::L1Loss()(rows, target), l1_loss(rows, target)));
  CHECK(equal(nn::SmoothL1Loss({.beta = 2})(rows, target), smooth_l1_loss(rows, target, {.beta = 2})));
  CHECK(equal(nn::HuberLoss({.delta = 2})(rows, target), huber_loss(rows, target, {.delta = 2})));
  CHECK(equal(nn::KLDivLoss({.log_target = true})(rows, target), kl_div(rows, target, {.log_target = true})));
  nn::BCEWithLogitsLoss loss({.pos_weight = weight});
  CHECK(equal(loss(rows, target), binary_cross_entropy_with_logits(rows, target, {.pos_weight = weight})));
  CHECK(loss.state_dict().size() == 1);
  CHECK(loss.state_dict().at("pos_weight").is_same(weight));
}

TEST_CASE("NLLLoss, class weights included") {
  const Tensor logs = log_softmax(scattered({4, 3}, -2, 2, float32), 1);
  const Tensor target = tensor_of({0, 2, -1, 1}, {4}, int64);
  const NLLLossOptions options{.weight = tensor_of({0.5, 2, 1}, {3}, float32), .ignore_index = -1};
  nn::check_layer(nn::NLLLoss(options), logs, target);
  nn::NLLLoss loss(options);
  CHECK(equal(loss(logs, target), nll_loss(logs, target, options)));
  CHECK(loss.state_dict().at("weight").is_same(options.weight));
}

TEST_CASE("CrossEntropyLoss, class weights included") {
  const Tensor logits = scattered({4, 3}, -2, 2, float32);
  const Tensor target = tensor_of({0, 2, -1, 1}, {4}, int64);
  const Tensor weight = tensor_of({0.5, 2, 1}, {3}, float32);
  const CrossEntropyOptions options{.weight = weight, .ignore_index = -1, .label_smoothing = 0.1};
  nn::check_layer(nn::CrossEntropyLoss({.ignore_index = -1}), logits, target);
  nn::check_layer(nn::CrossEntropyLoss(options), logits, target);
  nn::check_layer(nn::CrossEntropyLoss({.ignore_index = -1, .reduction = Reduction::none}), logits, target);
  nn::CrossEntropyLoss loss(options);
  CHECK(equal(loss(logits, target), cross_entropy(logits, target, options)));
  CHECK(loss.parameters().empty());
  CHECK(loss.state_dict().at("weight").is_same(weight));
  CHECK(nn::CrossEntropyLoss().state_dict().empty());
  nn::check_layer(nn::CrossEntropyLoss({.label_smoothing = 0.1}), logits, softmax(logits, 1));
}

TEST_CASE("layers within layers") {
  nn::check_layer(nn::Sequential(nn::Conv2d(4, 3, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                 nn::Flatten(), nn::Dropout(0.2), nn::Linear(18, 4), nn::LogSoftmax(1)),
                  images);
}
