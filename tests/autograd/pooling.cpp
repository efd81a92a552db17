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
