// Batch, layer, group and RMS norm as layers.
#include <tern/nn/check_layer.h>
#include <tern/nn/normalization.h>

#include <tern/autograd/functional.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {
const Tensor images = scattered({2, 4, 3, 2}, -2, 2, float32);
const Tensor rows = scattered({5, 4}, -2, 2, float32);
}  // namespace

TEST_CASE("BatchNorm1d and BatchNorm2d") {
  nn::check_layer(nn::BatchNorm2d(4), images);
  nn::check_layer(nn::BatchNorm1d(4), rows);
  nn::check_layer(nn::BatchNorm1d(4, {.momentum = std::nullopt, .bias = false}),
                  scattered({3, 4, 5}, -2, 2, float32));
  nn::check_layer(nn::BatchNorm2d(4, {.affine = false, .track_running_stats = false}), images);
  nn::BatchNorm2d evaluated(4);
  evaluated.eval();
  nn::check_layer(evaluated, images);
  const TensorMap state = nn::BatchNorm1d(4).state_dict();
  for (const char* name : {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"})
    CHECK(state.contains(name));
  CHECK(state.at("num_batches_tracked").dtype() == int64);
  CHECK(nn::BatchNorm1d(4, {.affine = false}).state_dict().size() == 3);
  CHECK(nn::BatchNorm1d(4, {.affine = false, .track_running_stats = false}).state_dict().empty());
  CHECK(fails_with("BatchNorm2d: input must be [N, C, H, W], got [5, 4]", [] { nn::BatchNorm2d(4)(rows); }));
  CHECK(fails_with("BatchNorm1d: input must be", [] { nn::BatchNorm1d(4)(images); }));
  CHECK(fails_with("BatchNorm2d: needs 3 channels", [] { nn::BatchNorm2d(3)(images); }));
}

TEST_CASE("batch norm layers count batches, blend or average statistics, and use them in evaluation") {
  nn::BatchNorm1d layer(2), average(2, {.momentum = std::nullopt});
  const Tensor first = tensor_of({0, 1, 2, 5}, {2, 2}, float32);
  const Tensor second = tensor_of({4, 0, 8, 0}, {2, 2}, float32);
  for (nn::BatchNorm1d* norm : {&layer, &average}) (*norm)(first), (*norm)(second);
  CHECK(layer.num_batches_tracked.item<int64_t>() == 2);
  CHECK(allclose(layer.running_mean, tensor_of({0.69, 0.27}, {2}, float32)));
  CHECK(allclose(layer.running_var, tensor_of({0.9 * 1.1 + 0.8, 0.9 * 1.7}, {2}, float32)));
  CHECK(allclose(average.running_mean, tensor_of({3.5, 1.5}, {2}, float32)));
  CHECK(allclose(average.running_var, tensor_of({5, 4}, {2}, float32)));
  average.eval();
  CHECK(allclose(average(first), batch_norm(first, average.running_mean, average.running_var)));
  CHECK(average.num_batches_tracked.item<int64_t>() == 2);
}

TEST_CASE("a batch of one value per channel is refused in training, without a trace") {
  nn::BatchNorm1d layer(4);
  const Tensor one = scattered({1, 4}, -2, 2, float32);
  CHECK(fails_with("got input [1, 4]; use drop_last or eval()", [&] { layer(one); }));
  CHECK(equal(layer.running_mean, zeros({4})));
  CHECK(equal(layer.running_var, ones({4})));
  CHECK(layer.num_batches_tracked.item<int64_t>() == 0);
  layer.eval();
  CHECK(layer(one).shape() == Shape{1, 4});
  CHECK(nn::BatchNorm2d(4)(scattered({1, 4, 2, 2}, -2, 2, float32)).shape() == Shape{1, 4, 2, 2});
}

TEST_CASE("LayerNorm, GroupNorm and RMSNorm") {
  nn::check_layer(nn::LayerNorm(4), rows);
  nn::check_layer(nn::LayerNorm({3, 2}, {.eps = 0.1, .bias = false}), images);
  nn::check_layer(nn::LayerNorm(4, {.elementwise_affine = false}), rows);
  nn::check_layer(nn::GroupNorm(2, 4), images);
  nn::check_layer(nn::GroupNorm(2, 4, {.affine = false}), rows);
  nn::check_layer(nn::RMSNorm(4), rows);
  nn::check_layer(nn::RMSNorm({3, 2}, {.eps = 0.1}), images);
  CHECK(nn::LayerNorm(4).weight.shape() == Shape{4});
  CHECK(fails_with("GroupNorm: 4 channels must be a multiple of 3 groups", [] { nn::GroupNorm(3, 4); }));
  CHECK(fails_with("GroupNorm: 4 channels must be a multiple of 0 groups", [] { nn::GroupNorm(0, 4); }));
}
