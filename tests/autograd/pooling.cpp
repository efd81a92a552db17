// Pooling at its edges: windows in the padding, NaN and infinities, sizes near 2^63, and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr double not_a_number = NAN, infinite = INFINITY;
constexpr int64_t huge = int64_t{1} << 62, largest = std::numeric_limits<int64_t>::max();

Tensor image(const std::vector<double>& values, int64_t rows, int64_t columns, DType dtype = float32) {
  return tensor_of(values, {1, 1, rows, columns}, dtype);
}

bool gives(const Tensor& got, const std::vector<double>& want) {
  return allclose(reshape(got, {-1}), tensor_of(want, {static_cast<int64_t>(want.size())}, got.dtype()), 1e-6,
                  1e-6, true);
}

}  // namespace

TEST_CASE("max pooling: a window wholly in the padding is minus infinity and passes no gradient") {
  for (const DType dtype : {float32, float64}) {
    const Tensor x = image({1, 2, 3}, 1, 3, dtype).requires_grad_();
    const Tensor y = max_pool2d(x, {1, 2}, {.stride = 1, .padding = {0, 1}, .dilation = {1, 4}});
    CHECK(gives(y, {-infinite}));
    CHECK(gives(grad(sum(y), {x})[0], {0, 0, 0}));
  }
}

TEST_CASE("max pooling: kernels, strides, paddings and dilations near 2^63 are an error or right") {
  for (const DType dtype : {float32, float64}) {
    const Tensor x = image({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3, dtype);
    for (const int64_t much : {int64_t{1} << 31, int64_t{1} << 32, huge, largest}) {
      CHECK(fails_with("max_pool2d: ", [&] { max_pool2d(x, much); }));
      CHECK(fails_with("max_pool2d: ", [&] { max_pool2d(x, 2, {.stride = Size2(much)}); }));
      CHECK(fails_with("max_pool2d: ", [&] { max_pool2d(x, 2, {.padding = much}); }));
      CHECK(fails_with("max_pool2d: ", [&] { max_pool2d(x, much, {.padding = much / 2}); }));
      CHECK(fails_with("max_pool2d: ", [&] { max_pool2d(x, 2, {.dilation = much}); }));
    }
    const Size2 whole(1 << 15);
    CHECK(gives(max_pool2d(x, whole, {.padding = 1 << 14}), {9}));
    CHECK(fails_with("max_pool2d: ", [&] { max_pool2d(x, 1 << 16, {.padding = 1 << 15}); }));
  }
}

TEST_CASE("max pooling: rounding up may leave one window larger than the image, as in PyTorch") {
  CHECK(gives(max_pool2d(image({1, 2, 3, 4}, 2, 2), 3, {.stride = Size2(2), .ceil_mode = true}), {4}));
  CHECK(fails_with("max_pool2d: input", [] { max_pool2d(ones({1, 1, 2, 2}), 3); }));
}

TEST_CASE("max pooling: NaN is chosen, minus infinity is a value, and indices are places of the image") {
  for (const DType dtype : {float32, float64, bfloat16}) {
    const auto pool = [&](const std::vector<double>& values) {
      const Tensor x = image(values, 2, 2, dtype).requires_grad_();
      const ValuesAndIndices pooled = max_pool2d_with_indices(x, 2),
                             same = adaptive_max_pool2d_with_indices(x, 1);
      CHECK(bits_equal(pooled.values, same.values));
      CHECK(equal(pooled.indices, same.indices));
      const Tensor dx = grad(sum(pooled.values), {x})[0];
      CHECK(bits_equal(dx, grad(sum(same.values), {x})[0]));
      return std::vector<Tensor>{pooled.values, pooled.indices, dx};
    };
    const std::vector<Tensor> one = pool({not_a_number, 1, 2, 3}),
                              low = pool({-infinite, -infinite, -infinite, -infinite});
    CHECK(gives(one[0], {not_a_number}));
    CHECK(one[1].item<int64_t>() == 0);
    CHECK(gives(one[2], {1, 0, 0, 0}));
    CHECK(gives(low[0], {-infinite}));
    CHECK(low[1].item<int64_t>() == 0);
    CHECK(gives(low[2], {1, 0, 0, 0}));
    const std::vector<Tensor> all = pool({not_a_number, not_a_number, not_a_number, not_a_number});
    CHECK(gives(all[0], {not_a_number}));
    CHECK(all[1].item<int64_t>() == 3);  // of several, the last
    CHECK(gives(all[2], {0, 0, 0, 1}));
  }
  const ValuesAndIndices padded = max_pool2d_with_indices(
      image({1, 2, 3}, 1, 3), {1, 2}, {.stride = 1, .padding = {0, 1}, .dilation = {1, 4}});
  CHECK(gives(padded.values, {-infinite}));
  CHECK(padded.indices.item<int64_t>() == 0);
}

TEST_CASE(
    "average pooling rounds the output's size up and divides by what lies in the image and its padding") {
  const Tensor x = reshape(arange(0.0, 49.0), {1, 1, 7, 7});
  CHECK(gives(avg_pool2d(x, 2, {.stride = 3, .ceil_mode = true}), {4, 7, 9.5, 25, 28, 30.5, 42.5, 45.5, 48}));
  const Tensor y = avg_pool2d(ones({1, 1, 17, 17}), 2, {.stride = 2, .padding = 1, .ceil_mode = true});
  CHECK(y.shape() == Shape{1, 1, 9, 9});
  CHECK(gives(slice(select(y, 2, 1), 2, 0, 2), {0.5, 1}));
  CHECK(gives(avg_pool2d(image({1, 2, 3, not_a_number}, 1, 4), {1, 2}), {1.5, not_a_number}));
}

TEST_CASE("averages of large parts keep their digits, and of half types are rounded once") {
  const Tensor x = scattered({1, 3, 200, 150}, 1000, 1001, float32);
  const Tensor exact = adaptive_avg_pool2d(scattered({1, 3, 200, 150}, 1000, 1001), 1);
  CHECK(distance(adaptive_avg_pool2d(x, 1), exact) < 1e-6);
  CHECK(gives(avg_pool2d(full({1, 1, 300, 300}, 1.0, float16), 300), {1}));
}

TEST_CASE("average and adaptive pooling refuse what does not fit") {
  const Tensor x = ones({1, 1, 4, 4});
  for (const int64_t much : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, huge, largest}) {
    CHECK(fails_with("avg_pool2d: ", [&] { avg_pool2d(x, much); }));
    CHECK(fails_with("avg_pool2d: ", [&] { avg_pool2d(x, 2, {.stride = Size2(much)}); }));
    CHECK(fails_with("avg_pool2d: ", [&] { avg_pool2d(x, much, {.padding = much / 2}); }));
  }
  CHECK(gives(avg_pool2d(x, Size2(1 << 30), {.padding = 1 << 29, .count_include_pad = false}), {1}));
  CHECK(fails_with("avg_pool2d: padding must be at most half", [&] { avg_pool2d(x, 2, {.padding = 2}); }));
  CHECK(fails_with("avg_pool2d: padding must be from 0", [&] { avg_pool2d(x, 2, {.padding = -1}); }));
  CHECK(fails_with("divisor_override must not be 0", [&] { avg_pool2d(x, 2, {.divisor_override = 0}); }));
  CHECK(fails_with("avg_pool2d: needs a floating-point tensor", [] {
    avg_pool2d(full({1, 1, 1, 1}, 1, int64), 1);
  }));
  CHECK(fails_with("avg_pool2d: input must be [N, C, H, W]", [] { avg_pool2d(ones({4, 4}), 1); }));
  CHECK(fails_with("avg_pool1d: input must be", [&] { avg_pool1d(x, 1); }));
  CHECK(fails_with("max_pool1d: input must be", [] { max_pool1d(ones({4}), 1); }));
  for (const int64_t size : {int64_t{-1}, huge, largest}) {
    CHECK(fails_with("adaptive_avg_pool2d: the output's size", [&] { adaptive_avg_pool2d(x, size); }));
    CHECK(fails_with("adaptive_max_pool2d: the output's size", [&] { adaptive_max_pool2d(x, size); }));
  }
  CHECK(fails_with("adaptive_avg_pool2d: input [1, 1, 0, 2] has empty images", [] {
    adaptive_avg_pool2d(ones({1, 1, 0, 2}), 1);
  }));
  CHECK(adaptive_avg_pool2d(x, 0).shape() == Shape{1, 1, 0, 0});
}
