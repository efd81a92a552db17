// Order and scans at their edges. Expected values are PyTorch's where the comment does not say otherwise.
#include <tern/autograd/ordering.h>

#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/slope.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();

bool gives(const Tensor& got, const std::vector<double>& want) {
  return allclose(got, row(want), 1e-14, 0, true);
}

}  // namespace

TEST_CASE("sort: NaN is largest, equals keep their order both ways, -0 and 0 are equal") {
  for (const DType dtype : {float64, float32, float16, bfloat16}) {
    const Tensor x = to(row({1, NAN, -0.0, 0, INFINITY, NAN, -INFINITY, -2}), dtype);
    CHECK(equal(argsort(x), tensor({6, 7, 2, 3, 0, 4, 1, 5})));
    CHECK(equal(argsort(x, 0, true), tensor({1, 5, 4, 0, 2, 3, 7, 6})));
    const Tensor values = to(sort(x).values, float64);
    CHECK(gives(values, {-INFINITY, -2, 0, 0, 1, INFINITY, NAN, NAN}));
    CHECK(std::signbit(values.data<double>()[2]));
  }
  CHECK(equal(sort(from_vector<int64_t>({most, 0, least, -1})).values,
              from_vector<int64_t>({least, -1, 0, most})));
  CHECK(equal(argsort(from_vector<int32_t>({5, -7, 5})), tensor({1, 0, 2})));
  CHECK(equal(argsort(from_vector<uint8_t>({200, 7}), 0, true), tensor({0, 1})));
  CHECK(equal(sort(tensor({true, false, true})).indices, tensor({1, 0, 2})));
}

TEST_CASE("long lines are sorted like short ones") {
  for (const DType dtype : {float64, float32, float16, int64, int32, uint8, boolean}) {
    const Tensor x = is_floating_point(dtype) ? to(scattered({3000}, -9, 9), dtype)
                                              : to(scattered({3000}, 0, dtype == boolean ? 2 : 100), dtype);
    const std::vector<double> values = values_of(x);
    std::vector<int64_t> order(3000);
    for (const bool down : {false, true}) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const double a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
        return down ? a > b : a < b;
      });
      CHECK(equal(argsort(x, 0, down), from_vector(order)));
      for (const int64_t k : {1, 40, 700, 3000})
        CHECK(equal(topk(x, k, 0, down).indices, narrow(from_vector(order), 0, 0, k)));
    }
  }
}

TEST_CASE("argsort finds the same order however the elements lie") {
  const Tensor x = scattered({2, 3, 4, 5});
  for (const Lay lay : all_lays)
    for (int64_t dim = 0; dim < 4; ++dim) CHECK(equal(argsort(laid_out(x, lay), dim), argsort(x, dim)));
}

TEST_CASE("topk: NaN is largest, of equals the first is taken, k may be nothing or all") {
  const Tensor x = row({1, NAN, 3, INFINITY});
  CHECK(gives(topk(x, 2).values, {NAN, INFINITY}));
  CHECK(gives(topk(x, 2, 0, false).values, {1, 3}));
  CHECK(equal(topk(tensor({5, 7, 5, 7}), 3).indices, tensor({1, 3, 0})));  // PyTorch leaves it open
  CHECK(topk(x, 0).values.shape() == Shape{0});
  CHECK(topk(empty({3, 0}), 0).indices.shape() == Shape{3, 0});
  CHECK(topk(tensor(3.0), 1).values.item<float>() == 3);
  for (const int64_t bad : {int64_t{5}, int64_t{-1}, most, least})
    CHECK(fails_with("topk: k must be from 0 to 4 in dimension 0 of shape [4], got " + std::to_string(bad),
                     [&] { topk(x, bad); }));
  CHECK(fails_with("topk: dim must be from -1 to 0, got 1", [&] { topk(x, 1, 1); }));
  CHECK(fails_with("sort: dim must be from -1 to 0, got -2", [&] { sort(x, -2); }));
}

TEST_CASE("topk of a few is the start of sort, whatever the order, the dimension and the number") {
  for (const DType dtype : {float64, float32, bfloat16, int64, int32, uint8}) {
    const Tensor few_values = to(scattered({1100, 2}, 0, 30), dtype);  // many are equal
    const Tensor up = sort(few_values, 0).values, down = sort(few_values, 0, true).values;
    for (const Tensor& x : {few_values, up, down, to(scattered({1100, 2}, -9, 120), dtype)}) {
      for (const bool largest : {false, true}) {
        for (const int64_t k : {1, 2, 10, 33, 63, 64, 65}) {
          const ValuesAndIndices all = sort(x, 0, largest), got = topk(x, k, 0, largest);
          CHECK(equal(got.values, narrow(all.values, 0, 0, k)));
          CHECK(equal(got.indices, narrow(all.indices, 0, 0, k)));
          CHECK(equal(topk(transpose(x, 0, 1), k, 1, largest).indices, transpose(got.indices, 0, 1)));
        }
      }
    }
  }
  std::vector<double> numbers(200, NAN);
  numbers[150] = 2, numbers[160] = -INFINITY;
  CHECK(equal(topk(row(numbers), 4, 0, false).indices, tensor({160, 150, 0, 1})));
  CHECK(equal(topk(row(numbers), 4).indices, tensor({0, 1, 2, 3})));
}

TEST_CASE("gradients of sort and topk go where the values came from, NaN and infinities too") {
  const auto weighed = [](const Tensor& y) { return y * row({1, 2, 3}); };
  CHECK(
      gives(slope({NAN, -INFINITY, 5}, [&](const Tensor& x) { return weighed(sort(x).values); }), {3, 1, 2}));
  CHECK(
      gives(slope({4, 4, 4, 4}, [&](const Tensor& x) { return weighed(topk(x, 3).values); }), {1, 2, 3, 0}));
  CHECK_FALSE(sort(row({1, 2}).requires_grad_()).indices.requires_grad());
}

TEST_CASE("cumsum: half types and float32 do not lose what they add, integers give int64") {
  const Tensor halves = cumsum(to(ones({4096}), float16), 0);  // summed in float16 it would stay at 2048
  CHECK(halves.dtype() == float16);
  CHECK(to(halves, float64).data<double>()[4095] == 4096);
  const Tensor tenth = cumsum(full({1 << 17}, 0.1), 0);
  CHECK(tenth.data<float>()[(1 << 17) - 1] == doctest::Approx(13107.2).epsilon(1e-7));
  CHECK(equal(cumsum(tensor({true, true, false}), 0), tensor({1, 2, 2})));
  CHECK(equal(cumsum(from_vector<uint8_t>({200, 100}), 0), tensor({200, 300})));
  CHECK(equal(cumsum(from_vector<int64_t>({most, 1}), 0), tensor({most, least})));
  CHECK(gives(cumsum(row({1, INFINITY, -INFINITY, 1}), 0), {1, INFINITY, NAN, NAN}));
  CHECK(gives(slope({NAN, 1, INFINITY}, [](const Tensor& x) { return cumsum(x, 0); }), {3, 2, 1}));
  CHECK(fails_with("cumsum: dim must be from -1 to 0, got 1", [] { cumsum(row({1}), 1); }));
}

TEST_CASE("prod: the gradient of a zero is the product of the others") {
  const auto all = [](const Tensor& x) { return prod(x); };
  CHECK(gives(slope({2, 3, 4}, all), {12, 8, 6}));
  CHECK(gives(slope({2, 0, 4}, all), {0, 8, 0}));
  CHECK(gives(slope({0, 3, 0}, all), {0, 0, 0}));
  CHECK(gives(slope({0}, all), {1}));
  CHECK(gives(slope({1e-200, 1e-200, 1e300}, all), {1e100, 1e100, 0}));  // PyTorch divides 0 by x: 0
  CHECK(gives(slope({INFINITY, 2}, all), {2, INFINITY}));                // PyTorch: inf / inf
  CHECK(gives(slope({0, INFINITY}, all), {INFINITY, 0}));
  CHECK(gives(slope({NAN, 2}, all), {2, NAN}));
  CHECK(gives(slope({}, all), {}));
  const Tensor half = to(row({300, 300, 1e-4}), float16).requires_grad_();  // 300 * 300 is no float16
  backward(prod(half) * 1e-3);
  CHECK(to(half.grad(), float64).data<double>()[2] == doctest::Approx(90).epsilon(1e-2));
}

TEST_CASE("prod: nothing gives 1, integers give int64, dimensions are checked") {
  CHECK(prod(empty({0})).item<float>() == 1);
  CHECK(equal(prod(empty({0, 2}), 0), ones({2})));
  CHECK(equal(prod(from_vector<uint8_t>({200, 2})), tensor(400)));
  CHECK(prod(tensor({true, true})).dtype() == int64);
  CHECK(prod(ones({2, 3}), {0, 1}, true).shape() == Shape{1, 1});
  CHECK(fails_with("prod: dimension 1 is listed twice", [] { prod(ones({2, 3}), Shape{1, 1}); }));
  CHECK(fails_with("prod: dim must be from -2 to 1, got 2", [] { prod(ones({2, 3}), 2); }));
}
