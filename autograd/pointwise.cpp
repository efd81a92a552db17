#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tern {
namespace {

// Any function of one variable: keeps the input or the output, whichever its gradient is made from. Integers,
// where the maths does not take them, are converted to float32 first.
template <class Math>
Tensor pointwise(const Math& math, const Tensor& x) {
  const OperationScope scope(Math::name);
  const bool convert = !is_floating_point(x.dtype()) && !TakesIntegers<Math>;
  const Tensor input = convert ? kernels::to(x, float32) : x;
  Tensor y = kernels::unary(math, input);
  return record(
      Math::name, y, {x},
      [math, kept = SavedTensor(GradientFromOutput<Math> ? y : input)](const Tensor& dy) -> Gradients {
        return {kernels::unary_backward(math, kept.get(), dy)};
      });
}

// The least and the largest value; for bool those of int64, which it is computed in beside a number.
std::pair<int64_t, int64_t> integer_range(DType dtype) {
  if (dtype == uint8) return {0, 255};
  if (dtype == int32) return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
}

// The same, for functions that serve no integers at all.
template <class Math>
Tensor activation(const Math& math, const Tensor& x) {
  check(is_floating_point(x.dtype()), Math::name, ": needs a floating-point tensor, got ", x.dtype());
  return pointwise(math, x);
}

template <class Math>
Tensor comparison(const Math& math, const Tensor& a, const Tensor& b) {
  const OperationScope scope(Math::name);
  return kernels::compare(math, a, b);
}

}  // namespace

Tensor neg(const Tensor& x) { return pointwise(Neg{}, x); }
Tensor exp(const Tensor& x) { return pointwise(Exp{}, x); }
Tensor log(const Tensor& x) { return pointwise(Log{}, x); }
Tensor sqrt(const Tensor& x) { return pointwise(Sqrt{}, x); }
Tensor tanh(const Tensor& x) { return pointwise(Tanh{}, x); }
Tensor relu(const Tensor& x) { return pointwise(Relu{}, x); }
Tensor abs(const Tensor& x) { return pointwise(Abs{}, x); }
Tensor sign(const Tensor& x) { return pointwise(Sign{}, x); }
Tensor square(const Tensor& x) { return pointwise(Square{}, x); }
Tensor rsqrt(const Tensor& x) { return pointwise(Rsqrt{}, x); }
Tensor reciprocal(const Tensor& x) { return pointwise(Reciprocal{}, x); }
Tensor sin(const Tensor& x) { return pointwise(Sin{}, x); }
Tensor cos(const Tensor& x) { return pointwise(Cos{}, x); }
Tensor log1p(const Tensor& x) { return pointwise(Log1p{}, x); }
Tensor expm1(const Tensor& x) { return pointwise(Expm1{}, x); }
Tensor erf(const Tensor& x) { return pointwise(Erf{}, x); }
Tensor round(const Tensor& x) { return pointwise(Round{}, x); }
Tensor floor(const Tensor& x) { return pointwise(Floor{}, x); }
Tensor ceil(const Tensor& x) { return pointwise(Ceil{}, x); }
Tensor sigmoid(const Tensor& x) { return pointwise(Sigmoid{}, x); }

Tensor leaky_relu(const Tensor& x, double negative_slope) { return activation(LeakyRelu{negative_slope}, x); }
Tensor elu(const Tensor& x, double alpha) { return activation(Elu{alpha}, x); }
Tensor gelu(const Tensor& x, GeluApproximation approximate) {
  return approximate == GeluApproximation::none ? activation(Gelu{}, x) : activation(GeluTanh{}, x);
}
Tensor silu(const Tensor& x) { return activation(Silu{}, x); }
Tensor softplus(const Tensor& x, double beta, double threshold) {
  return activation(Softplus{beta, threshold}, x);
}

Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  check(min || max, "clamp: needs a bound");
  const double low = min ? min->to_double() : -std::numeric_limits<double>::infinity();
  const double high = max ? max->to_double() : std::numeric_limits<double>::infinity();
  check(!std::isnan(low) && !std::isnan(high), "clamp: a bound is NaN");
  if (is_floating_point(x.dtype())) return pointwise(Clamp{low, high}, x);
  const OperationScope scope("clamp");
  const auto [lowest, highest] = integer_range(x.dtype());
  check(low <= static_cast<double>(highest) && high >= static_cast<double>(lowest), "clamp: no ", x.dtype(),
        " lies between the bounds ", low, " and ", high);
  // A bound that x's dtype does not hold would wrap around, and does not bind.
  if (min && !min->is_floating_point()) min = std::max(min->to_int64(), lowest);
  if (max && !max->is_floating_point()) max = std::min(max->to_int64(), highest);
  Tensor y = x;
  if (min) y = kernels::binary(Maximum{}, y, kernels::scalar_like(*min, y));
  if (max) y = kernels::binary(Minimum{}, y, kernels::scalar_like(*max, y));
  return y;
}

Tensor eq(const Tensor& a, const Tensor& b) { return comparison(Equal{}, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return comparison(NotEqual{}, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return comparison(Less{}, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return comparison(LessEqual{}, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return comparison(Greater{}, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return comparison(GreaterEqual{}, a, b); }
Tensor eq(const Tensor& a, Scalar b) { return eq(a, kernels::scalar_like(b, a)); }
Tensor ne(const Tensor& a, Scalar b) { return ne(a, kernels::scalar_like(b, a)); }
Tensor lt(const Tensor& a, Scalar b) { return lt(a, kernels::scalar_like(b, a)); }
Tensor le(const Tensor& a, Scalar b) { return le(a, kernels::scalar_like(b, a)); }
Tensor gt(const Tensor& a, Scalar b) { return gt(a, kernels::scalar_like(b, a)); }
Tensor ge(const Tensor& a, Scalar b) { return ge(a, kernels::scalar_like(b, a)); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return comparison(LogicalAnd{}, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return comparison(LogicalOr{}, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return comparison(LogicalXor{}, a, b); }
Tensor logical_not(const Tensor& x) { return x == kernels::scalar_like(0, x); }

bool equal(const Tensor& a, const Tensor& b) {
  const OperationScope scope("equal");
  if (a.shape() != b.shape() || a.dtype() != b.dtype() || a.device() != b.device()) return false;
  return kernels::all(eq(a, b)).item<bool>();
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const OperationScope scope("allclose");
  check(is_floating_point(a.dtype()) && is_floating_point(b.dtype()),
        "allclose: needs floating-point tensors, got ", a.dtype(), " and ", b.dtype());
  if (a.shape() != b.shape()) return false;
  const Tensor left = kernels::contiguous(kernels::to(a, float64)),
               right = kernels::contiguous(kernels::to(b, float64));
  const double* x = left.data<double>();
  const double* y = right.data<double>();
  for (int64_t i = 0; i < left.numel(); ++i) {
    const bool both_nan = equal_nan && std::isnan(x[i]) && std::isnan(y[i]);
    const bool close =
        x[i] == y[i] || (std::isfinite(x[i] - y[i]) && std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]));
    if (!close && !both_nan) return false;
  }
  return true;
}

}  // namespace tern
