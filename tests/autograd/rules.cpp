#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/core/random.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr double not_a_number = NAN, infinite = INFINITY;

// The gradient of sum(function(x)) at x.
template <class Function>
Tensor gradient_at(const Tensor& x, Function function) {
  const Tensor leaf = clone(x.detach()).requires_grad_();
  backward(sum(function(leaf)));
  return leaf.grad();
}

bool same_values(const Tensor& got, const std::vector<double>& want) {
  return distance(got, tensor_of(want, got.shape())) <= 1e-6;
}

}  // namespace

TEST_CASE("cross entropy of ignored rows: no loss, no gradient, NaN as the mean of nothing") {
  const Tensor logits = scattered({2, 3}), target = full({2}, -100, int64);
  CHECK(same_values(cross_entropy(logits, target, {.reduction = Reduction::none}), {0, 0}));
  CHECK(cross_entropy(logits, target, {.reduction = Reduction::sum}).item<double>() == 0);
  CHECK(std::isnan(cross_entropy(logits, target).item<double>()));
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    const Tensor dx = gradient_at(
        logits, [&](const Tensor& x) { return cross_entropy(x, target, {.reduction = reduction}); });
    CHECK(bits_equal(dx, zeros({2, 3}, float64)));
  }
  // The same where the classes that count have no weight (PyTorch: a gradient of NaN).
  const Tensor weight = tensor_of({0, 1, 1}, {3}), first = zeros({2}, int64);
  CHECK(std::isnan(cross_entropy(logits, first, {.weight = weight}).item<double>()));
  CHECK(bits_equal(
      gradient_at(logits, [&](const Tensor& x) { return cross_entropy(x, first, {.weight = weight}); }),
      zeros({2, 3}, float64)));
}

TEST_CASE("an ignore_index outside the classes drops its rows for every reduction") {
  const Tensor logits = zeros({6, 3}, float64), target = tensor({0, 1, 255, 0, 1, 2});
  const double ln3 = std::log(3.0);
  const auto loss = [&](Reduction reduction) {
    return cross_entropy(logits, target, {.ignore_index = 255, .reduction = reduction});
  };
  CHECK(same_values(loss(Reduction::none), {ln3, ln3, 0, ln3, ln3, ln3}));
  CHECK(same_values(loss(Reduction::sum), {5.4930614}));
  CHECK(same_values(loss(Reduction::mean), {ln3}));
  CHECK(same_values(cross_entropy(ones({1, 3}, float64), tensor({1}), {.ignore_index = 0}), {ln3}));
  CHECK(fails_with("cross_entropy: ", [&] { cross_entropy(logits, target); }));
  CHECK(fails_with("cross_entropy: ", [&] { cross_entropy(logits, full({6}, -1, int64)); }));
}

TEST_CASE("cross entropy with weights, smoothing and ignored rows divides by the weights that count") {
  const Tensor logits = tensor_of({1, 0, 0, 1, 0, 0, 1, 0, 0}, {3, 3}), target = tensor({0, 1, -100});
  const Tensor equal_weights = ones({3}, float64), weights = tensor_of({1, 3, 1}, {3});
  CHECK(same_values(cross_entropy(logits, target, {.weight = equal_weights, .label_smoothing = 0.1}),
                    {1.0681114}));
  CHECK(same_values(
      cross_entropy(logits, target,
                    {.weight = equal_weights, .label_smoothing = 0.1, .reduction = Reduction::sum}),
      {2.1362228}));
  CHECK(same_values(cross_entropy(logits, target, {.weight = weights}), {1.3014447}));
}

TEST_CASE("cross entropy does not underflow") {
  const Tensor logits = tensor_of({10, 0, -100}, {1, 3}, float32).requires_grad_();
  const Tensor loss = cross_entropy(logits, tensor({2}));
  CHECK(loss.item<float>() == doctest::Approx(110.0000454));
  backward(loss);
  CHECK(same_values(logits.grad(), {0.9999546, 4.5398e-5, -1}));
}

TEST_CASE("max pooling names the NaN, and of equals the first") {
  const auto pooled = [](const std::vector<double>& window) {
    const Tensor x = tensor_of(window, {1, 1, 2, 2}).requires_grad_(), y = max_pool2d(x, 2);
    backward(y, {.gradient = ones({1, 1, 1, 1}, float64)});
    std::vector<double> result = values_of(x.grad());
    result.insert(result.begin(), y.item<double>());
    return tensor_of(result, {5});
  };
  CHECK(same_values(pooled({not_a_number, 1, 2, 3}), {not_a_number, 1, 0, 0, 0}));
  CHECK(same_values(pooled({1, not_a_number, 2, 3}), {not_a_number, 0, 1, 0, 0}));
  CHECK(values_of(pooled({-infinite, -infinite, -infinite, -infinite})) ==
        std::vector<double>{-infinite, 1, 0, 0, 0});
  CHECK(same_values(pooled({2, 5, 5, 1}), {5, 0, 1, 0, 0}));
  const std::vector<double> all_nan =
      values_of(pooled({not_a_number, not_a_number, not_a_number, not_a_number}));
  CHECK((std::isnan(all_nan[0]) && all_nan[1] + all_nan[2] + all_nan[3] + all_nan[4] == 1));
}

TEST_CASE("a strided depthwise convolution reaches the last row and column of its weight") {
  for (const int64_t groups : {1, 4, 8, 23, 24, 25}) {
    for (const DType dtype : {float32, float64}) {
      const Tensor x = ones({1, groups, 6, 6}, dtype), w = ones({groups, 1, 3, 3}, dtype).requires_grad_();
      backward(sum(conv2d(x, w, {}, {.stride = 2, .padding = 1, .groups = groups})));
      const Tensor one = tensor_of({4, 6, 6, 6, 9, 9, 6, 9, 9}, {1, 1, 3, 3}, dtype);
      REQUIRE(distance(w.grad(), expand(one, w.shape())) == 0);
    }
  }
  std::vector<double> pixels(64), taps(36);
  for (size_t i = 0; i < 64; ++i) pixels[i] = static_cast<double>(i);
  for (size_t i = 0; i < 36; ++i) taps[i] = static_cast<double>(i);
  const Tensor x = tensor_of(pixels, {1, 4, 4, 4}).requires_grad_(),
               w = tensor_of(taps, {4, 1, 3, 3}).requires_grad_();
  backward(sum(conv2d(x, w, {}, {.stride = 2, .padding = 1, .groups = 4})));
  CHECK(same_values(index(x.grad(), {0, 0}), {4, 8, 4, 5, 8, 16, 8, 10, 4, 8, 4, 5, 7, 14, 7, 8}));
  CHECK(same_values(index(w.grad(), {0, 0}), {5, 10, 12, 10, 20, 24, 18, 36, 40}));
}

TEST_CASE("pixels past the last window of a strided convolution have no gradient") {
  for (const DType dtype : {float32, float64}) {
    const Tensor x = ones({1, 9, 32, 32}, dtype).requires_grad_(), w = ones({3, 9, 5, 5}, dtype);
    backward(sum(conv2d(x, w, {}, {.stride = 3, .padding = 1})));
    std::vector<double> counts(32);
    for (int64_t i = 0; i < 32; ++i) {
      for (int64_t window = 0; window < 10; ++window)
        counts[static_cast<size_t>(i)] += i >= 3 * window - 1 && i < 3 * window + 4;
    }
    const Tensor c = tensor_of(counts, {32}, dtype);
    CHECK(distance(x.grad(), expand(unsqueeze(c, 1) * c * 3, x.shape())) == 0);
    CHECK(counts[31] == 0);
  }
}

TEST_CASE("the gradient of a maximum goes to the first of equals, in every dtype") {
  for (const DType dtype : {float16, bfloat16, float32}) {
    const Tensor x = ones({70000}, dtype).requires_grad_();
    backward(max(x));
    CHECK(values_of(slice(x.grad(), 0, 0, 2)) == std::vector<double>{1, 0});
    CHECK(sum(to(x.grad(), float32)).item<float>() == 1);
  }
  CHECK(same_values(
      gradient_at(tensor_of({1, not_a_number, 3, not_a_number}, {4}), [](const Tensor& x) { return max(x); }),
      {0, 1, 0, 0}));
  CHECK(same_values(
      gradient_at(tensor_of({1, not_a_number, 3, not_a_number}, {4}), [](const Tensor& x) { return min(x); }),
      {0, 1, 0, 0}));
}

TEST_CASE("dropout's gradient is its mask, scaled") {
  manual_seed(3);
  const Tensor x = ones({2, 3, 4, 4}).requires_grad_(), y = dropout(x);
  backward(sum(y));
  CHECK(bits_equal(x.grad(), y.detach()));
  const Tensor wide = dropout(ones({100000}), 0.5);
  const double kept = mean(wide).item<double>() / 2;
  CHECK(std::abs(kept - 0.5) < 5 * std::sqrt(0.25 / 100000));
  CHECK(max(wide).item<float>() == 2);
  CHECK(dropout(x, 0).is_same(x));
  CHECK(dropout(x, 0.5, false).is_same(x));
  x.set_grad(Tensor());
  const Tensor none = dropout(x, 1);
  backward(sum(none));
  CHECK(bits_equal(none.detach(), zeros(x.shape())));
  CHECK(bits_equal(x.grad(), zeros(x.shape())));
  CHECK(fails_with("dropout: p must be from 0 to 1, got 1.5", [&] { dropout(x, 1.5); }));
}

TEST_CASE("the same seed drops the same elements, whatever the memory order and generator") {
  const Tensor x = scattered({2, 3, 4, 5}, 1, 2, float32);
  manual_seed(11);
  const Tensor expected = dropout(x, 0.4);
  for (const Lay lay : all_lays) {
    manual_seed(11);
    CHECK(bits_equal(dropout(laid_out(x, lay), 0.4), expected));
  }
  Generator own;
  own.manual_seed(11);
  CHECK(bits_equal(dropout(x, 0.4, true, &own), expected));
}

TEST_CASE("relu keeps NaN, and its flat side takes nothing from an infinite gradient") {
  const Tensor x = tensor_of({not_a_number, -1, 0, 2}, {4}).requires_grad_(), y = relu(x);
  CHECK(same_values(y.detach(), {not_a_number, 0, 0, 2}));
  backward(y, {.gradient = full({4}, infinite, float64)});
  CHECK(values_of(x.grad())[1] == 0);
  CHECK(values_of(x.grad())[2] == 0);
  CHECK(values_of(x.grad())[3] == infinite);
}

TEST_CASE("softmax of large numbers neither overflows nor underflows") {
  const Tensor x = tensor_of({1000, 0, -1000, 1000}, {4}, float32);
  CHECK(same_values(softmax(x, 0), {0.5, 0, 0, 0.5}));
  CHECK(same_values(log_softmax(x, 0), {-std::log(2.0), -1000.6931, -2000.6931, -std::log(2.0)}));
}

TEST_CASE("gradients pass between dtypes and memory orders") {
  const Tensor x = scattered({2, 3, 4, 5}, -2, 2, float32).requires_grad_();
  backward(sum(to(x, float64) * scattered({2, 3, 4, 5})));
  CHECK(x.grad().dtype() == float32);
  CHECK(distance(x.grad(), scattered({2, 3, 4, 5})) <= 1e-7);
  CHECK(to(x, float32).is_same(x));
  CHECK(contiguous(x).is_same(x));
  CHECK_FALSE(to(x, int64).requires_grad());
  const Tensor a = scattered({2}, -2, 2, float32).requires_grad_(), b = scattered({2}).requires_grad_();
  backward(sum(a * b / (a + b * 2)));
  CHECK((a.grad().dtype() == float32 && b.grad().dtype() == float64));
}

TEST_CASE("a number that a half type would round away is rounded with the result alone") {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor x = to(tensor({60000.0, 1.0}), dtype), single = select(x, 0, 0);
    CHECK(values_of(x * 1e-8)[0] == doctest::Approx(0.0006).epsilon(0.01));
    CHECK(values_of(1e-8 * x)[0] == doctest::Approx(0.0006).epsilon(0.01));
    CHECK(values_of(x * tensor(1e-8))[0] == doctest::Approx(0.0006).epsilon(0.01));
    CHECK((x * 1e-8).dtype() == dtype);
    CHECK((single * 1e-8).dtype() == dtype);
    CHECK((single * 1e-8).item<float>() == doctest::Approx(0.0006).epsilon(0.01));
    CHECK(values_of(x / 70000)[0] == doctest::Approx(0.857).epsilon(0.01));
    CHECK(values_of(mul_(clone(x), 1e-8))[0] == doctest::Approx(0.0006).epsilon(0.01));
    const Tensor slope = gradient_at(x, [](const Tensor& t) { return t * 3e-6; });
    CHECK(slope.dtype() == dtype);
    CHECK(values_of(slope)[0] == doctest::Approx(3e-6).epsilon(0.01));
    CHECK(values_of(full({1}, 0.1, dtype) == 0.1)[0] == 1);  // numbers are compared as the tensor holds them
  }
}

TEST_CASE("comparisons with integers that the dtype does not hold are true to the numbers") {
  const Tensor x = to(tensor({1, 200}), uint8);
  CHECK(values_of(x > -1) == std::vector<double>{1, 1});
  CHECK(values_of(x < 300) == std::vector<double>{1, 1});
  CHECK(values_of(x == -56) == std::vector<double>{0, 0});
  CHECK(values_of(x == 200) == std::vector<double>{0, 1});
  CHECK(values_of(to(x, int32) < (int64_t{1} << 40)) == std::vector<double>{1, 1});
  CHECK((x + 300).dtype() == uint8);
  CHECK(values_of(x + 300) == std::vector<double>{45, 244});  // arithmetic wraps around
}

TEST_CASE("integers and numbers meet as in PyTorch") {
  const Tensor i = tensor({1, 2, 3});
  CHECK((i + 1).dtype() == int64);
  CHECK((i + 1.5).dtype() == float32);
  CHECK((i / 2).dtype() == float32);
  CHECK((ones({2}, float16) * 2.5).dtype() == float16);
  CHECK((ones({2}, float32) + ones({}, float64)).dtype() == float32);
  CHECK((i > 1).dtype() == boolean);
  CHECK(sum(i > 1).item<int64_t>() == 2);
  CHECK(equal(i, tensor({1, 2, 3})));
  CHECK_FALSE(equal(i, tensor({1, 2, 4})));
  CHECK_FALSE(equal(i, ones({3})));
  CHECK_FALSE(equal(tensor_of({not_a_number}, {1}), tensor_of({not_a_number}, {1})));
  CHECK(allclose(tensor_of({1, not_a_number, infinite}, {3}),
                 tensor_of({1 + 1e-9, not_a_number, infinite}, {3}), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(tensor_of({not_a_number}, {1}), tensor_of({not_a_number}, {1})));
  CHECK_FALSE(allclose(tensor_of({1}, {1}), tensor_of({infinite}, {1})));
  CHECK_FALSE(allclose(tensor_of({1}, {1}), tensor_of({1.1}, {1})));
}

TEST_CASE("narrow counts a negative start from the end, and refuses what is not there, near 2^63 too") {
  constexpr int64_t most = INT64_MAX, least = INT64_MIN;
  const Tensor x = tensor({1, 2, 3});
  CHECK(equal(narrow(x, 0, -2, 2), tensor({2, 3})));
  CHECK(narrow(x, 0, 3, 0).numel() == 0);
  for (const auto& [start, length] : std::vector<std::pair<int64_t, int64_t>>{
           {most, most}, {most, 1}, {1, most}, {least, 1}, {0, least}, {-4, 1}, {-1, 2}, {4, 0}, {0, -1}}) {
    CHECK(fails_with("narrow: ", [&, first = start, count = length] { narrow(x, 0, first, count); }));
  }
}

TEST_CASE("flattening what is empty may meet sizes whose product would overflow") {
  constexpr int64_t large = int64_t{1} << 40;
  const Tensor x = zeros({0, large, large, 0});
  CHECK(flatten(x).shape() == Shape{0});
  CHECK(flatten(x, 0, 1).shape() == Shape{0, large, 0});
  CHECK(flatten(x, 2).shape() == Shape{0, large, 0});
  CHECK(fails_with("has more than 2^63 - 1 elements", [&] { flatten(x, 1, 2); }));
}
