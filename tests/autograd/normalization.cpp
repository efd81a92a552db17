// Normalisation at its edges: large means, few values, NaN, half types, and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

// (x - mean) / sqrt(var + eps), in double.
std::vector<double> normalized(const std::vector<double>& x, double eps) {
  double mean = 0, var = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) var += (v - mean) * (v - mean) / static_cast<double>(x.size());
  std::vector<double> y;
  for (const double v : x) y.push_back((v - mean) / std::sqrt(var + eps));
  return y;
}

double off(const Tensor& got, const std::vector<double>& want) {
  const std::vector<double> values = values_of(got);
  double most = 0;
  for (size_t i = 0; i < want.size(); ++i) most = std::max(most, std::abs(values[i] - want[i]));
  return most;
}

}  // namespace

TEST_CASE("a large mean costs no digits") {
  const Tensor row = tensor_of({40000, 40001, 40002, 40003}, {1, 4}, float32);
  const std::vector<double> want{-1.3416354, -0.4472118, 0.4472118, 1.3416354};
  CHECK(off(layer_norm(row, {4}), want) < 1e-6);
  CHECK(off(group_norm(row, 1), want) < 1e-6);
  CHECK(off(batch_norm(transpose(row, 0, 1), {}, {}, {}, {}, {.training = true}), want) < 1e-6);
  for (const double mean : {0.0, 5.0, 100.0, 1000.0, 1e6}) {
    for (const int64_t count : {16, 3000}) {
      const Tensor x = scattered({count, 1}, 0, 0.1, float32) + mean;
      const std::vector<double> exact = normalized(values_of(x), 1e-5);
      CHECK(off(layer_norm(reshape(x, {1, count}), {count}), exact) < 2e-6);
      CHECK(off(group_norm(reshape(x, {1, 1, count}), 1), exact) < 2e-6);
      CHECK(off(batch_norm(x, {}, {}, {}, {}, {.training = true}), exact) < 2e-6);
      const Tensor wide = expand(x, {count, 70});
      const Tensor y = batch_norm(wide, {}, {}, {}, {}, {.training = true});
      CHECK(off(select(y, 1, 0), exact) < 2e-6);
      CHECK(off(select(y, 1, 69), exact) < 2e-6);
    }
  }
}

TEST_CASE("values near the largest float32 do not overflow on the way to the mean") {
  const Tensor x = full({2, 3000}, 3e38);
  CHECK(equal(layer_norm(x, {3000}), zeros({2, 3000})));
  CHECK(equal(batch_norm(transpose(x, 0, 1), {}, {}, {}, {}, {.training = true}), zeros({3000, 2})));
}

TEST_CASE("batch norm in training refuses one value per channel and leaves the running statistics") {
  const Tensor mean = zeros({4}), var = ones({4});
  const auto train = [&](const Shape& shape) {
    return batch_norm(scattered(shape, -2, 2, float32), mean, var, {}, {}, {.training = true});
  };
  CHECK(
      fails_with("batch_norm: training needs more than one value per channel, got input [1, 4]; use "
                 "drop_last or eval()",
                 [&] {
                   train({1, 4});
                 }));
  CHECK(fails_with("[1, 4, 1, 1]", [&] { train({1, 4, 1, 1}); }));
  CHECK(equal(mean, zeros({4})));
  CHECK(equal(var, ones({4})));
  CHECK(batch_norm(ones({1, 4}), mean, var).shape() == Shape{1, 4});
  CHECK(train({0, 4}).shape() == Shape{0, 4});
  CHECK(equal(var, ones({4})));
  CHECK(train({1, 4, 2, 2}).shape() == Shape{1, 4, 2, 2});
  CHECK_FALSE(equal(mean, zeros({4})));
}

TEST_CASE("running statistics that move on leave the gradients of earlier batches as they were") {
  for (const bool training : {true, false}) {
    const Tensor mean = zeros({3}, float64), var = ones({3}, float64);
    const auto apply = [&](const Tensor& x, bool train) {
      return batch_norm(x, mean, var, {}, {}, {.training = train});
    };
    const Tensor x = scattered({4, 3}).requires_grad_(), dy = upstream({4, 3});
    const Tensor expected = grad(apply(x, training), {x}, {.gradient = dy})[0];
    kernels::copy(zeros({3}, float64), mean), kernels::copy(ones({3}, float64), var);
    const Tensor y = apply(x, training);
    apply(scattered({4, 3}, 5, 9), true);
    CHECK(bits_equal(grad(y, {x}, {.gradient = dy})[0], expected));
  }
}

TEST_CASE("running statistics in an expanded view are refused, and stay as they were") {
  const Tensor one = ones({1}), spread = expand(one, {4}), own = zeros({4}),
               x = scattered({2, 4}, -2, 2, float32);
  CHECK(fails_with("clone() first", [&] { batch_norm(x, own, spread, {}, {}, {.training = true}); }));
  CHECK(fails_with("clone() first", [&] { batch_norm(x, spread, own, {}, {}, {.training = true}); }));
  CHECK(one.item<float>() == 1);
  CHECK(equal(own, zeros({4})));
}

TEST_CASE("batch norm's gradients add up over three passes") {
  const Tensor x = reshape(arange(0.0, 12.0), {1, 3, 2, 2}).requires_grad_();
  const Tensor gamma = ones({3}).requires_grad_(), beta = zeros({3}).requires_grad_();
  for (int pass = 1; pass <= 3; ++pass) {
    const Tensor y = batch_norm(x, {}, {}, gamma, beta, {.training = true});
    backward(sum(y * y));
    const double want = 7.999936 * pass;
    CHECK(off(gamma.grad(), {want, want, want}) < 1e-5);
    CHECK(off(beta.grad(), {0, 0, 0}) < 1e-5);
    CHECK(off(x.grad(), std::vector<double>(12, 0)) < 1e-3);
  }
}

TEST_CASE("a channels-last image stays channels-last, with the contiguous image's values") {
  const Tensor x = scattered({3, 20, 5, 4}, -2, 2, float32);
  const Tensor last = kernels::contiguous(x, MemoryFormat::channels_last);
  const Tensor plain = batch_norm(x, {}, {}, {}, {}, {.training = true});
  const Tensor y = batch_norm(last, {}, {}, {}, {}, {.training = true});
  CHECK(plain.is_contiguous());
  CHECK(y.is_channels_last());
  CHECK(distance(y, plain) < 1e-6);
  CHECK(group_norm(x, 4).is_contiguous());
  CHECK(group_norm(last, 4).is_channels_last());
  CHECK(distance(group_norm(last, 4), group_norm(x, 4)) < 1e-6);
}

TEST_CASE("NaN stays in its channel, row or group") {
  std::vector<double> values = values_of(scattered({2, 4, 3}));
  values[0] = NAN;  // sample 0, channel 0
  const Tensor x = tensor_of(values, {2, 4, 3});
  const auto nans = [](const Tensor& y) {
    const std::vector<double> found = values_of(y);
    return std::count_if(found.begin(), found.end(), [](double v) { return v != v; });
  };
  CHECK(nans(batch_norm(x, {}, {}, {}, {}, {.training = true})) == 6);
  CHECK(nans(layer_norm(x, {3})) == 3);
  CHECK(nans(rms_norm(x, {4, 3})) == 12);
  CHECK(nans(group_norm(x, 2)) == 6);
}

TEST_CASE("peers make one batch of several parts") {
  // As if another part held the same values: then dx is that of both where both have the same dy.
  struct Twin : kernels::BatchPeers {
    Tensor gather(const Tensor& row) const override { return cat({unsqueeze(row, 0), unsqueeze(row, 0)}); }
    void add(const Tensor& sums) const override { mul_(sums, 2.0); }
  };
  const auto twin = std::make_shared<Twin>();
  const Tensor x = scattered({5, 3, 2}), dy = upstream({5, 3, 2});
  const auto run = [&](const Tensor& input, const Tensor& start,
                       std::shared_ptr<const kernels::BatchPeers> peers) {
    const Tensor mean = zeros({3}, float64), var = ones({3}, float64);
    const Tensor leaf = kernels::clone(input).requires_grad_();
    const Tensor y =
        batch_norm(leaf, mean, var, {}, {}, {.training = true, .momentum = 0.5, .peers = std::move(peers)});
    return std::vector<Tensor>{y, grad(y, {leaf}, {.gradient = start})[0], mean, var};
  };
  const std::vector<Tensor> half = run(x, dy, twin), whole = run(cat({x, x}), cat({dy, dy}), nullptr);
  CHECK(distance(half[0], narrow(whole[0], 0, 0, 5)) < 1e-12);
  CHECK(distance(half[1], narrow(whole[1], 0, 0, 5)) < 1e-12);
  CHECK(distance(half[2], whole[2]) < 1e-12);
  CHECK(distance(half[3], whole[3]) < 1e-12);
  CHECK(run(scattered({1, 3}), upstream({1, 3}), twin)[0].shape() == Shape{1, 3});  // two values are enough
}

TEST_CASE("half types take parameters of float32 and of their own") {
  const Tensor x = scattered({4, 6}, -2, 2, bfloat16);
  const Tensor weight = scattered({6}, 0.5, 2, float32).requires_grad_(),
               bias = scattered({6}, -1, 1, float32);
  for (const auto& norm : std::vector<std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>>{
           [](const Tensor&t, const Tensor&w, const Tensor&b) {
             return batch_norm(t, {}, {}, w, b, {.training = true});
           },
           [](const Tensor&t, const Tensor&w, const Tensor&b) { return layer_norm(t, {6}, w, b); },
           [](const Tensor&t, const Tensor&w, const Tensor&b) { return group_norm(t, 2, w, b); }}) {
    const Tensor y = norm(x, weight, bias);
    CHECK(y.dtype() == bfloat16);
    CHECK(grad(sum(y), {weight})[0].dtype() == float32);
    CHECK(distance(to(y, float32), norm(to(x, float32), weight, bias)) < 1e-2);
    CHECK(fails_with("weight must be [6] of bfloat16", [&] { norm(x, to(weight, float64), bias); }));
  }
}

TEST_CASE("normalisation refuses what does not fit") {
  const Tensor x = scattered({2, 4}, -2, 2, float32), three = ones({3});
  CHECK(fails_with("batch_norm: needs a floating-point tensor, got int64",
                   [] { batch_norm(tensor({{1}}), {}, {}, {}, {}, {.training = true}); }));
  CHECK(fails_with("batch_norm: input must be [N, C]",
                   [] { batch_norm(ones({3}), {}, {}, {}, {}, {.training = true}); }));
  CHECK(fails_with("batch_norm: weight must be [4]", [&] { batch_norm(x, three, three, three); }));
  CHECK(fails_with("batch_norm: running_mean must be [4]", [&] { batch_norm(x, three, three); }));
  CHECK(fails_with("batch_norm: evaluation needs running statistics", [&] { batch_norm(x, {}, {}); }));
  CHECK(fails_with("both running_mean and running_var", [&] { batch_norm(x, three, {}); }));
  CHECK(fails_with("layer_norm: the last dimensions of the input must be [3], got input [2, 4]",
                   [&] { layer_norm(x, {3}); }));
  CHECK(fails_with("layer_norm: the last dimensions", [&] { layer_norm(x, {}); }));
  CHECK(fails_with("layer_norm: the last dimensions", [&] { layer_norm(x, {1, 2, 4}); }));
  CHECK(fails_with("layer_norm: bias must be [4]", [&] { layer_norm(x, {4}, {}, three); }));
  CHECK(fails_with("rms_norm: weight must be [4]", [&] { rms_norm(x, {4}, three); }));
  CHECK(fails_with("multiple of groups = 3", [&] { group_norm(x, 3); }));
  CHECK(fails_with("multiple of groups = 0", [&] { group_norm(x, 0); }));
  CHECK(fails_with("multiple of groups = -2", [&] { group_norm(x, -2); }));
  CHECK(fails_with("group_norm: input [2, 4, 0] has empty channels", [] { group_norm(ones({2, 4, 0}), 2); }));
  CHECK(fails_with("more than one value per group", [] { group_norm(ones({1, 4}), 4); }));
}
