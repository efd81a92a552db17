// NaN, infinities, zeros and what is refused: the operations that take each element from somewhere, powers,
// activations and statistics. Expected values are PyTorch's where the comment does not say otherwise.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/slope.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr double not_a_number = NAN, infinite = INFINITY;

// Equal, NaN where NaN is wanted.
bool gives(const Tensor& got, const std::vector<double>& want) {
  return allclose(got, row(want), 1e-12, 1e-12, true);
}

}  // namespace

TEST_CASE("maximum and minimum: NaN wins on either side; of equals each gets half") {
  const Tensor a = row({not_a_number, 1, 1, -infinite}), b = row({1, not_a_number, 1, infinite});
  CHECK(gives(maximum(a, b), {not_a_number, not_a_number, 1, infinite}));
  CHECK(gives(minimum(a, b), {not_a_number, not_a_number, 1, -infinite}));
  CHECK(
      gives(slope({not_a_number, 1, 1, 0}, [&](const Tensor& x) { return maximum(x, b); }), {1, 1, 0.5, 0}));
  CHECK(equal(maximum(tensor({3, -2}), tensor({1, 5})), tensor({3, 5})));
}

TEST_CASE("clamp keeps NaN, lets the upper bound win, and serves integers") {
  CHECK(gives(clamp(row({not_a_number, -infinite, 0.5, infinite}), 0, 1), {not_a_number, 0, 0.5, 1}));
  CHECK(gives(clamp(row({-5, 0, 5}), 1, -1), {-1, -1, -1}));
  CHECK(gives(slope({not_a_number, -1, 0, 0.5, 1, 2}, [](const Tensor& x) { return clamp(x, 0, 1); }),
              {0, 0, 0, 1, 0, 0}));
  CHECK(equal(clamp(tensor({-5, 0, 5}), -1, 3), tensor({-1, 0, 3})));
  CHECK(clamp(tensor({1, 2}), 0.5).dtype() == float32);
  const Tensor byte = from_vector<uint8_t>({2, 200});
  CHECK(equal(clamp(byte, -1, 300), byte));  // bounds beyond the dtype do not wrap around
  CHECK(equal(clamp(byte, -1, 100), from_vector<uint8_t>({2, 100})));
  CHECK(fails_with("clamp: no uint8 lies between", [&] { clamp(byte, 300); }));
  CHECK(fails_with("clamp: needs a bound", [] { clamp(row({1}), {}); }));
  CHECK(fails_with("clamp: a bound is NaN", [] { clamp(row({1}), not_a_number); }));
}

TEST_CASE("where does not let the branch not taken through, not even its gradient's NaN") {
  const Tensor x = row({0, 4});
  CHECK(gives(where(x > 0, sqrt(x), 0), {0, 2}));
  const Tensor condition = tensor({true, false});
  CHECK(gives(slope({1, infinite}, [&](const Tensor& t) { return where(condition, t, t * 0); }), {1, 0}));
  CHECK(fails_with("where: the condition must be bool, got float64", [&] { where(x, x, x); }));
  CHECK(fails_with("where", [&] { where(x > 0, x, row({1, 2, 3})); }));
  CHECK(where(condition, tensor({1, 2}), 0.5).dtype() == float32);
}

TEST_CASE("masked_fill keeps the dtype, and its mask must fit") {
  CHECK(equal(masked_fill(tensor({1, 2, 3}), tensor({true, false, true}), 7), tensor({7, 2, 7})));
  CHECK(gives(masked_fill(row({not_a_number, 2}), tensor({true, false}), 1), {1, 2}));
  CHECK(fails_with("masked_fill: mask of shape", [] { masked_fill(row({1}), tensor({true, false}), 0); }));
  const Tensor mask = tensor({true});
  CHECK(fails_with("masked_fill: nan does not fit int64",
                   [&] { masked_fill(tensor({1}), mask, not_a_number); }));
  CHECK(fails_with("masked_fill: -1e+09 does not fit float16",
                   [&] { masked_fill(ones({1}, float16), mask, -1e9); }));
  CHECK(equal(masked_fill(ones({1}, float16), mask, -infinite), full({1}, -infinite, float16)));
}

TEST_CASE("powers of zero and negative numbers; integers stay integers") {
  CHECK(gives(pow(row({0, -1, 2, not_a_number}), 0), {1, 1, 1, 1}));
  CHECK(gives(slope({0, -1, 2, not_a_number}, [](const Tensor& x) { return pow(x, 0); }), {0, 0, 0, 0}));
  CHECK(gives(pow(row({0, -1, 4}), 0.5), {0, not_a_number, 2}));
  CHECK(gives(slope({0, -1, 2}, [](const Tensor& x) { return pow(x, 3); }), {0, 3, 12}));
  CHECK(gives(slope({0, 2}, [](const Tensor& b) { return pow(row({0, 0}), b); }), {0, 0}));
  CHECK(equal(pow(tensor({-2, 3}), 3), tensor({-8, 27})));
  CHECK(equal(pow(tensor({2, -1, 1, 0}), tensor({-1, -1, -1, -1})), tensor({0, -1, 1, 0})));
  CHECK(pow(tensor({2}), 0.5).dtype() == float32);
  CHECK(equal(pow(2, tensor({10})), tensor({1024})));
  CHECK(fails_with("pow: an integer to the negative integer power -1", [] { pow(tensor({2}), -1); }));
}

TEST_CASE("integers wrap around") {
  constexpr int64_t least = INT64_MIN, most = INT64_MAX;
  const Tensor ends = tensor({least, most});
  CHECK(equal(-ends, tensor({least, -most})));
  CHECK(equal(abs(ends), tensor({least, most})));
  CHECK(equal(square(tensor({least, int64_t{1} << 40, most})), tensor({int64_t{0}, int64_t{0}, int64_t{1}})));
  CHECK(equal(ends + tensor({int64_t{-1}, int64_t{1}}), tensor({most, least})));
  CHECK(equal(ends - tensor({int64_t{1}, int64_t{-1}}), tensor({most, least})));
  CHECK(equal(ends * tensor({int64_t{-1}, int64_t{2}}), tensor({least, int64_t{-2}})));
  CHECK(equal(pow(ends, tensor({3, 2})), tensor({int64_t{0}, int64_t{1}})));
  CHECK(pow(tensor({3}), 100).item<int64_t>() == -2984622845537545263);
  CHECK(pow(to(tensor({3}), int32), 50).item<int32_t>() == -794958903);
  CHECK(equal(pow(ends, tensor({-1, -1})), tensor({0, 0})));
  const Tensor small = to(tensor({INT32_MIN, INT32_MAX}), int32);
  CHECK(equal(-small, to(tensor({INT32_MIN, -INT32_MAX}), int32)));
  CHECK(equal(small * small, to(tensor({0, 1}), int32)));
  CHECK(equal(-full({1}, 1, uint8), full({1}, 255, uint8)));
  CHECK(equal(full({1}, 16, uint8) * full({1}, 17, uint8), full({1}, 16, uint8)));
}

TEST_CASE("truth values are not subtracted, negated or raised to powers") {
  const Tensor flag = tensor({true, false}), counts = tensor({1, 2}), x = row({1, 2});
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { sub(flag, flag); }, [&] { sub(flag, counts); }, [&] { sub(x, flag); }, [&] { sub(flag, 1); },
           [&] { sub(1, flag); }, [&] { sub(counts, true); }, [&] { sub(true, x); },
           [&] { sub(flag, true); }}) {
    CHECK(fails_with("sub: bool is not subtracted; use logical_xor or logical_not", action));
  }
  CHECK(fails_with("sub_: bool is not subtracted", [&] { sub_(counts, flag); }));
  CHECK(fails_with("sub_: bool is not subtracted", [&] { sub_(flag, flag); }));
  CHECK(fails_with("sub_: bool is not subtracted", [&] { sub_(x, true); }));
  CHECK(fails_with("neg: dtype bool is not served", [&] { neg(flag); }));
  CHECK(fails_with("pow: needs a number, got two operands of bool", [&] { pow(flag, flag); }));
  CHECK(equal(flag + flag, flag));
  CHECK(equal(flag * counts, tensor({1, 0})));
  CHECK(equal(flag, tensor({true, false})));
}

TEST_CASE("an integer tensor does not take fractions in place, and the error says so") {
  const Tensor counts = tensor({3, 4});
  CHECK(
      fails_with("div: a result of dtype float32 does not fit a tensor of int64", [&] { counts /= counts; }));
  CHECK(fails_with("div: a result of dtype float32 does not fit a tensor of int64", [&] { counts /= 2; }));
  CHECK(fails_with("add: a result of dtype float32 does not fit a tensor of int64", [&] { counts += 0.5; }));
  CHECK(equal(counts, tensor({3, 4})));
}

TEST_CASE("functions of one variable at their edges") {
  CHECK(gives(abs(row({-0.0, not_a_number, -infinite})), {0, not_a_number, infinite}));
  CHECK_FALSE(std::signbit(abs(row({-0.0})).item<double>()));
  CHECK(gives(slope({-3, 0, not_a_number, 3}, [](const Tensor& x) { return abs(x); }), {-1, 0, 0, 1}));
  CHECK(gives(sign(row({-3, 0, not_a_number, infinite})), {-1, 0, 0, 1}));
  CHECK(gives(round(row({-2.5, -1.5, 0.5, 1.5, not_a_number})), {-2, -2, 0, 2, not_a_number}));
  CHECK(gives(rsqrt(row({0, 4, infinite, -1})), {infinite, 0.5, 0, not_a_number}));
  CHECK(gives(reciprocal(row({0, -infinite, 4})), {infinite, 0, 0.25}));
  CHECK(gives(sigmoid(row({-infinite, -800, 0, 800, infinite, not_a_number})),
              {0, 0, 0.5, 1, 1, not_a_number}));
  CHECK(equal(floor(tensor({3, -4})), tensor({3, -4})));
  CHECK(sigmoid(tensor({0})).dtype() == float32);
  CHECK(fails_with("abs: dtype bool", [] { abs(tensor({true})); }));
}

TEST_CASE("float32's exp and erf keep to the ULP that they promise, over all magnitudes") {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0xff000000; bits += 9973) {
    const auto x = std::bit_cast<float>(bits);
    if (std::isfinite(x)) values.push_back(x);
  }
  const Tensor x = from_vector(values), powers = exp(x), errors = erf(x);
  // In units of the last place of a float32 at `exact`.
  const auto distance = [](float got, double exact) {
    if (std::isinf(got)) return exact > 3.4028235677973366e38 ? 0 : infinite;
    const int last_place = exact == 0 ? -149 : std::max(std::ilogb(exact) - 23, -149);
    return std::fabs(got - exact) / std::ldexp(1, last_place);
  };
  double exp_worst = 0, erf_worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    exp_worst = std::max(exp_worst, distance(powers.data<float>()[i], std::exp(double{values[i]})));
    erf_worst = std::max(erf_worst, distance(errors.data<float>()[i], std::erf(double{values[i]})));
  }
  CHECK(exp_worst <= 1);
  CHECK(erf_worst <= 6);
}

TEST_CASE("activations far out, and for integers") {
  CHECK(gives(softplus(row({-800, 200, not_a_number})), {0, 200, not_a_number}));
  CHECK(gives(slope({-800, 0, 200}, [](const Tensor& x) { return softplus(x); }), {0, 0.5, 1}));
  CHECK(gives(elu(row({-infinite, infinite, not_a_number})), {-1, infinite, not_a_number}));
  CHECK(gives(slope({-infinite, infinite, not_a_number}, [](const Tensor& x) { return elu(x); }), {0, 1, 1}));
  CHECK(gives(slope({-800, 800}, [](const Tensor& x) { return silu(x); }), {0, 1}));
  CHECK(gives(gelu(row({-40, 40, not_a_number})), {0, 40, not_a_number}));
  CHECK(gelu(tensor({INFINITY})).item<float>() == INFINITY);
  for (const auto& activation : std::vector<Tensor (*)(const Tensor&)>{
           [](const Tensor& x) { return leaky_relu(x); }, [](const Tensor& x) { return elu(x); },
           [](const Tensor& x) { return gelu(x); }, [](const Tensor& x) { return silu(x); },
           [](const Tensor& x) { return softplus(x); }}) {
    CHECK(fails_with("needs a floating-point tensor, got int64", [&] { activation(tensor({1})); }));
  }
}

TEST_CASE("logic: whatever is not zero is true") {
  const Tensor a = row({0, 1, not_a_number, 0}), b = row({0, 0, 2, 3});
  CHECK(equal(logical_and(a, b), tensor({false, false, true, false})));
  CHECK(equal(logical_or(a, b), tensor({false, true, true, true})));
  CHECK(equal(logical_xor(a, b), tensor({false, true, false, true})));
  CHECK(equal(logical_not(a), tensor({true, false, false, true})));
}

TEST_CASE("statistics of little, of zeros and of infinities") {
  CHECK(gives(var(row({3}), {0}, 1, true), {not_a_number}));
  CHECK(gives(var(row({3}), {0}, 0, true), {0}));
  CHECK(gives(var(row({}), {0}, 0, true), {not_a_number}));
  CHECK(gives(slope({2, 2}, [](const Tensor& x) { return stddev(x); }), {0, 0}));
  CHECK(gives(slope({0, 0}, [](const Tensor& x) { return norm(x); }), {0, 0}));
  CHECK(gives(slope({0, 0}, [](const Tensor& x) { return norm(x, 0.5); }), {0, 0}));
  CHECK(gives(slope({0, 4}, [](const Tensor& x) { return norm(x, 0.5); }), {0, 1}));
  CHECK(gives(norm(row({-3, 2}), infinite, {0}, true), {3}));
  CHECK(norm(tensor({3e30F, -4e30F})).item<float>() == doctest::Approx(5e30));  // squares exceed float32
  CHECK(std::isinf(norm(tensor({3e38F, 3e38F})).item<float>()));
  const Tensor large = tensor({{3e30F, -3e-30F, 0.0F}, {4e30F, 4e-30F, 0.0F}});
  CHECK(allclose(norm(large, 2, {0}), tensor({5e30F, 5e-30F, 0.0F}), 1e-6, 0));
  CHECK(allclose(norm(large, 2, {1}), tensor({3e30F, 4e30F}), 1e-6, 0));
  CHECK(allclose(norm(t(large), 2, {1}, true), tensor({{5e30F}, {5e-30F}, {0.0F}}), 1e-6, 0));
  CHECK(fails_with("norm: p must be above 0", [] { norm(row({1}), 0); }));
  CHECK(gives(logsumexp(row({-infinite, -infinite}), {0}, true), {-infinite}));
  CHECK(gives(logsumexp(row({infinite, 0}), {0}, true), {infinite}));
  CHECK(gives(logsumexp(empty({2, 0}), {1}), {-infinite, -infinite}));
  CHECK(logsumexp(empty({2, 0, 1}), {0}).shape() == Shape{0, 1});
  CHECK(logsumexp(empty({0, 3}, float64), Shape{}).item<double>() == -infinite);
  const Tensor none = empty({2, 0}).requires_grad_();
  backward(sum(logsumexp(none, {1})));
  CHECK(none.grad().shape() == Shape{2, 0});
  CHECK(gives(logsumexp(row({not_a_number, 0}), {0}, true), {not_a_number}));
  CHECK(gives(slope({-infinite, -infinite}, [](const Tensor& x) { return logsumexp(x, {0}); }),
              {0, 0}));  // PyTorch: NaN
  CHECK(gives(amax(row({1, not_a_number, 2}), {0}, true), {not_a_number}));
  CHECK(gives(slope({not_a_number, 1}, [](const Tensor& x) { return amax(x, {0}); }), {0, 0}));
  CHECK(fails_with("amax", [] { amax(row({}), {0}); }));
  CHECK(fails_with("var: needs a floating-point tensor, got int64", [] { var(tensor({1})); }));
}

TEST_CASE("a large mean costs var and stddev no digits") {
  CHECK(var(to(row({40000, 40001, 40002, 40003}), float32)).item<double>() == doctest::Approx(5 / 3.0));
  for (const double mean : {0.0, 5.0, 100.0, 1000.0, 1e6}) {
    for (const Shape& shape : {Shape{3000}, Shape{16, 1}, Shape{3000, 2}}) {
      const Tensor x = (scattered(shape, 0, 0.1, float32) + mean).requires_grad_();
      const Tensor exact = to(x.detach(), float64).requires_grad_();
      CHECK(allclose(to(var(x, {0}), float64), var(exact, {0}), 2e-6, 1e-9));
      CHECK(allclose(to(stddev(x, {0}), float64), stddev(exact, {0}), 2e-6, 1e-9));
      const Tensor slope = grad(sum(stddev(x, {0})), {x})[0],
                   want = grad(sum(stddev(exact, {0})), {exact})[0];
      CHECK(allclose(to(slope, float64), want, 1e-5, 1e-8));
    }
  }
}

TEST_CASE("powers that overflow or vanish leave norms as they are") {
  for (const auto& [dtype, sizes] : std::vector<std::pair<DType, std::vector<double>>>{
           {float32, {1e20, 1e-25, 3e37, 1e-44}}, {float64, {1e200, 1e-200, 3e307, 1e-320}}}) {
    for (const double size : sizes) {
      // Beside a row that needs no care, and one without a norm.
      const Tensor x = tensor_of({3 * size, -4 * size, 3, 4, 0, 0}, {3, 2}, dtype).requires_grad_();
      const double digits = size < 1e-40 ? 0.1 : 1e-5;  // what is left of the numbers themselves
      CHECK(allclose(to(norm(x, 2, {1}), float64) / tensor_of({size, 1, 1}, {3}), row({5, 5, 0}), digits, 0));
      CHECK(allclose(to(norm(x, 3, {1}), float64) / tensor_of({size, 1, 1}, {3}),
                     row({std::cbrt(91), std::cbrt(91), 0}), digits, 0));
      CHECK(allclose(to(grad(sum(norm(x, 2, {1})), {x})[0], float64),
                     tensor_of({0.6, -0.8, 0.6, 0.8, 0, 0}, {3, 2}), digits, 0));
      if (size < 1e-40) continue;
      const Tensor directions = normalize(x, 2, 1, 0), own = narrow(x, 0, 0, 2);
      CHECK(
          allclose(to(narrow(directions, 0, 0, 2), float64), tensor_of({0.6, -0.8, 0.6, 0.8}, {2, 2}), 1e-5));
      CHECK(allclose(to(cosine_similarity(own, -own, 1, 0), float64), row({-1, -1}), 1e-5));
    }
  }
  CHECK(gives(norm(row({infinite, 1}), 2, {0}, true), {infinite}));
  CHECK(gives(norm(row({not_a_number, infinite}), 2, {0}, true), {not_a_number}));
  CHECK(gives(norm(row({}), 2, {0}, true), {0}));
}
