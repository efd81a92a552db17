// Sequential: what it runs in one pass gives the values and gradients of the single steps.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/sequential.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

// The result, then the gradients of the input and of all parameters.
template <class Forward>
Tensors run(const nn::Module& module, const Tensor& input, const Forward& forward) {
  module.zero_grad();
  const Tensor x = laid_out(input, input.is_channels_last() ? Lay::channels_last : Lay::contiguous);
  x.requires_grad_();
  const Tensor y = forward(x);
  backward(y, {.gradient = upstream(y.shape(), y.dtype())});
  Tensors results{y.detach(), x.grad()};
  for (const Tensor& parameter : module.parameters()) results.push_back(parameter.grad());
  return results;
}

// How far the model's results are from those of its layers called one by one, at most.
double largest_difference(nn::Sequential& model, const Tensor& input) {
  const Tensors fused = run(model, input, [&](const Tensor& x) { return model(x); });
  const Tensors single = run(model, input, [&](const Tensor& x) {
    Tensor y = x;
    for (size_t i = 0; i < model.size(); ++i) y = model[i](y);
    return y;
  });
  double worst = 0;
  for (size_t i = 0; i < single.size(); ++i) worst = std::max(worst, distance(fused[i], single[i]));
  return worst;
}

void check_same(nn::Sequential model, const Shape& shape) {
  for (const auto& [type, tolerance] : {std::pair(float64, 1e-13), {float32, 2e-6}, {bfloat16, 0.02}}) {
    const DType dtype = type;
    model.to(dtype);
    for (const Lay lay : {Lay::contiguous, Lay::channels_last}) {
      INFO(model, "\n", name(dtype), " ", name(lay), " ", shape);
      CHECK(largest_difference(model, laid_out(scattered(shape, -2, 2, dtype), lay)) <= tolerance);
    }
  }
}

}  // namespace

TEST_CASE("Conv2d, ReLU") {
  check_same(nn::Sequential(nn::Conv2d(3, 8, 3, {.padding = 1}), nn::ReLU()), {2, 3, 9, 7});
  check_same(nn::Sequential(nn::Conv2d(3, 17, {1, 2}, {.stride = 2, .bias = false}), nn::ReLU(), nn::Tanh()),
             {1, 3, 6, 6});
  check_same(nn::Sequential(nn::Conv2d(4, 6, 3, {.dilation = 2, .groups = 2}), nn::ReLU()), {2, 4, 8, 8});
}

TEST_CASE("Conv2d, ReLU, MaxPool2d(2)") {
  check_same(nn::Sequential(nn::Conv2d(3, 8, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2)), {2, 3, 8, 6});
  // An odd row and column that no window covers, without bias.
  check_same(
      nn::Sequential(nn::Conv2d(3, 17, 3, {.padding = 1, .bias = false}), nn::ReLU(), nn::MaxPool2d(2)),
      {3, 3, 9, 7});
  // No kernel does this in one pass.
  check_same(nn::Sequential(nn::Conv2d(4, 6, 3, {.groups = 2}), nn::ReLU(), nn::MaxPool2d(2)), {2, 4, 8, 8});
}

TEST_CASE("Conv2d, ReLU and another pooling") {
  for (const auto& pool :
       {nn::MaxPool2d(3), nn::MaxPool2d(2, {.stride = 1}), nn::MaxPool2d(2, {.padding = 1}),
        nn::MaxPool2d(2, {.dilation = 2}), nn::MaxPool2d(2, {.ceil_mode = true})})
    check_same(nn::Sequential(nn::Conv2d(3, 5, 3), nn::ReLU(), pool), {2, 3, 9, 9});
}

TEST_CASE("Flatten, Linear") {
  check_same(nn::Sequential(nn::Flatten(), nn::Linear(60, 7)), {3, 4, 5, 3});
  check_same(nn::Sequential(nn::Flatten(), nn::Linear(60, 7, {.bias = false})), {3, 4, 5, 3});
  check_same(nn::Sequential(nn::Flatten(0), nn::Linear(180, 7)), {3, 4, 5, 3});
  check_same(nn::Sequential(nn::Flatten(2), nn::Linear(15, 7)), {3, 4, 5, 3});
}

TEST_CASE("a whole network, and one within another") {
  nn::Sequential inner(nn::Conv2d(3, 8, 3, {.padding = 1}), nn::ReLU(), nn::Conv2d(8, 16, 3), nn::ReLU(),
                       nn::MaxPool2d(2));
  check_same(nn::Sequential(inner, nn::Flatten(), nn::Linear(16 * 9, 10), nn::ReLU(), nn::Linear(10, 4)),
             {2, 3, 8, 8});
}

TEST_CASE("Sequential without a batch dimension") {
  nn::Sequential model(nn::Conv2d(3, 4, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(0), nn::Linear(36, 2));
  const Tensor image = scattered({3, 8, 8}, -2, 2, float32);
  CHECK(model(image).shape() == Shape{2});
  CHECK(largest_difference(model, image) <= 2e-6);
}

TEST_CASE("frozen layers get no gradient in one pass either") {
  nn::Sequential model(nn::Conv2d(3, 4, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(36, 2));
  model[0]->requires_grad_(false);
  const Tensor y = model(scattered({2, 3, 8, 8}, -2, 2, float32));
  backward(y, {.gradient = upstream(y.shape(), float32)});
  CHECK_FALSE(model[0].as<nn::Conv2d>()->weight.grad().defined());
  CHECK(model[4].as<nn::Linear>()->weight.grad().defined());
}

TEST_CASE("Sequential grows, hands out its layers, and holds a layer's copy that shares tensors") {
  nn::Linear linear(2, 3);
  nn::Sequential model;
  const Tensor x = scattered({4, 2}, -2, 2, float32);
  CHECK(model(x).is_same(x));
  model.push_back(linear);
  model.push_back(nn::Tanh());
  CHECK(model.size() == 2);
  CHECK(model[0].as<nn::Linear>()->weight.is_same(linear.weight));
  CHECK(model[0].as<nn::Tanh>() == nullptr);
  CHECK(equal(model(x), tanh(linear(x))));
  CHECK(fails_with("Sequential: there is no layer 2 among 2", [&] { model[2]; }));
}
