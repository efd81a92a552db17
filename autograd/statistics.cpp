#include <tern/autograd/statistics.h>

#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>
#include <tern/kernels/where.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern {
namespace {

using kernels::compare;
using kernels::scalar_like;
using kernels::unary;

Tensor times(const Tensor& x, double factor) { return kernels::mul(x, scalar_like(factor, x)); }

// A reduction y = value(x) that keeps the reduced dimensions, with dx = gradient(x, y, dy) in the same way.
// Both see float32 in place of the half types.
template <class Value, class Gradient>
Tensor reduction(const char* operation, const Tensor& x, const Shape& dims, bool keepdim, Value value,
                 Gradient gradient) {
  const OperationScope scope(operation);
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
  const DType dtype = x.dtype(), wide = computing_dtype(dtype);
  const Tensor input = kernels::to(x, wide), kept = value(input);
  const Shape shape = kernels::reduced_shape(x.shape(), dims, keepdim, operation);
  const Tensor y = kernels::to(kernels::contiguous(kept), dtype);
  return record(
      operation, y.with_layout(Layout(shape, dense_strides(shape), y.layout().offset)), {x},
      [gradient, dtype, wide, input = SavedTensor(input),
       kept = SavedTensor(kept)](const Tensor& dy) -> Gradients {
        const Tensor upstream = kernels::to(kernels::contiguous(dy), wide);
        const Shape& shape = kept.get().shape();
        const Layout layout(shape, dense_strides(shape), upstream.layout().offset);
        return {kernels::to(gradient(input.get(), kept.get(), upstream.with_layout(layout)), dtype)};
      });
}

// a / b, and 0 where b is 0.
Tensor quotient_or_zero(const Tensor& a, const Tensor& b) {
  const Tensor zero = scalar_like(0, b);
  return kernels::where(compare(Equal{}, b, zero), zero, kernels::div(a, b));
}

double degrees_of_freedom(const Tensor& x, const Tensor& reduced, double correction) {
  const auto outputs = static_cast<double>(std::max<int64_t>(reduced.numel(), 1));
  return std::max(static_cast<double>(x.numel()) / outputs - correction, 0.0);
}

// x less its mean. The mean is rounded to x's dtype: a second step takes away what that left out.
Tensor distances(const Tensor& x, const Shape& dims) {
  const Tensor distance = kernels::sub(x, kernels::mean(x, dims, true));
  kernels::binary_(Sub{}, distance, kernels::mean(distance, dims, true));
  return distance;
}

Tensor variance(const Tensor& x, const Shape& dims, double correction) {
  const Tensor sum = kernels::sum(unary(Square{}, distances(x, dims)), dims, true);
  return kernels::div(sum, scalar_like(degrees_of_freedom(x, sum, correction), sum));
}

// dx of var() for dy of it.
Tensor variance_gradient(const Tensor& x, const Tensor& dy, const Shape& dims, double correction) {
  return kernels::mul(distances(x, dims), times(dy, 2 / degrees_of_freedom(x, dy, correction)));
}

template <class Extreme>
Tensor shared_extreme(const char* operation, const Tensor& x, const Shape& dims, bool keepdim,
                      Extreme extreme) {
  check(x.numel() > 0 || Layout(kernels::reduced_shape(x.shape(), dims, false, operation)).numel() == 0,
        operation, ": the reduced dimensions of shape ", x.shape(), " are empty");
  return reduction(
      operation, x, dims, keepdim, [=](const Tensor& t) { return extreme(t, dims, true); },
      [=](const Tensor& t, const Tensor& y, const Tensor& dy) {
        const Tensor chosen = compare(Equal{}, t, y);
        const Tensor count = kernels::to(kernels::sum(chosen, dims, true), dy.dtype());
        return kernels::where(chosen, kernels::div(dy, count), scalar_like(0, dy));
      });
}

Tensor sum_of_powers(const Tensor& x, double p, const Shape& dims) {
  return kernels::sum(p == 2 ? unary(Square{}, x) : unary(Power{p}, unary(Abs{}, x)), dims, true);
}

Tensor root(const Tensor& sum, double p) { return p == 2 ? unary(Sqrt{}, sum) : unary(Power{1 / p}, sum); }

// Which elements are finite and at least `least`; NaN is not.
Tensor from_to_largest(const Tensor& x, double least) {
  const double largest = x.dtype() == float64 ? std::numeric_limits<double>::max()
                                              : static_cast<double>(std::numeric_limits<float>::max());
  return compare(LogicalAnd{}, compare(GreaterEqual{}, x, scalar_like(least, x)),
                 compare(LessEqual{}, x, scalar_like(largest, x)));
}

// m (sum |x / m|^p)^(1/p) with m = max |x|, or 1 where that is no divisor.
Tensor scaled_norm(const Tensor& x, double p, const Shape& dims) {
  const Tensor most = kernels::max(unary(Abs{}, x), dims, true);
  const double least = x.dtype() == float64 ? std::numeric_limits<double>::denorm_min()
                                            : static_cast<double>(std::numeric_limits<float>::denorm_min());
  const Tensor scale = kernels::where(from_to_largest(most, least), most, scalar_like(1, most));
  return kernels::mul(root(sum_of_powers(kernels::div(x, scale), p, dims), p), scale);
}

// Where the powers overflow, or lose digits near zero, x is scaled first. Squares of a float do neither in
// double.
Tensor norm_of(const Tensor& x, double p, const Shape& dims) {
  if (p == 2 && x.dtype() != float64) return kernels::norm(x, dims, true);
  const Tensor sum = sum_of_powers(x, p, dims),
               sound = from_to_largest(sum, x.dtype() == float64 ? 1e-280 : 1e-30);
  if (x.numel() == 0 || kernels::all(sound).item<bool>()) return root(sum, p);
  return kernels::where(sound, root(sum, p), scaled_norm(x, p, dims));
}

// The norm for finite p, dx = dy sign(x) (|x| / y)^(p-1), 0 at x = 0 for p < 1 too.
Tensor power_norm(const Tensor& x, double p, const Shape& dims, bool keepdim) {
  return reduction(
      "norm", x, dims, keepdim, [=](const Tensor& t) { return norm_of(t, p, dims); },
      [=](const Tensor& t, const Tensor& y, const Tensor& dy) {
        if (p == 2) return kernels::mul(dy, quotient_or_zero(t, y));
        const Tensor share = unary(Power{p - 1}, quotient_or_zero(unary(Abs{}, t), y));
        const Tensor slope = kernels::mul(unary(Sign{}, t), share), zero = scalar_like(0, t);
        return kernels::mul(dy, p < 1 ? kernels::where(compare(Equal{}, t, zero), zero, slope) : slope);
      });
}

}  // namespace

Tensor var(const Tensor& x, const Shape& dims, double correction, bool keepdim) {
  return reduction(
      "var", x, dims, keepdim, [=](const Tensor& t) { return variance(t, dims, correction); },
      [=](const Tensor& t, const Tensor&, const Tensor& dy) {
        return variance_gradient(t, dy, dims, correction);
      });
}

Tensor stddev(const Tensor& x, const Shape& dims, double correction, bool keepdim) {
  return reduction(
      "stddev", x, dims, keepdim,
      [=](const Tensor& t) { return unary(Sqrt{}, variance(t, dims, correction)); },
      [=](const Tensor& t, const Tensor& y, const Tensor& dy) {
        return variance_gradient(t, quotient_or_zero(times(dy, 0.5), y), dims, correction);
      });
}

Tensor norm(const Tensor& x, double p, const Shape& dims, bool keepdim) {
  check(p > 0, "norm: p must be above 0, got ", p);
  check(is_floating_point(x.dtype()), "norm: needs a floating-point tensor, got ", x.dtype());
  return std::isfinite(p) ? power_norm(x, p, dims, keepdim) : amax(abs(x), dims, keepdim);
}

Tensor logsumexp(const Tensor& x, const Shape& dims, bool keepdim) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return reduction(
      "logsumexp", x, dims, keepdim,
      [=](const Tensor& t) {
        if (t.numel() == 0) return unary(Log{}, kernels::sum(t, dims, true));  // of nothing: log(0)
        const Tensor most = kernels::max(t, dims, true);
        // Infinite ones can't be subtracted, and need not be.
        const Tensor infinite = compare(Equal{}, unary(Abs{}, most), scalar_like(infinity, most));
        const Tensor shift = kernels::where(infinite, scalar_like(0, most), most);
        const Tensor sum = kernels::sum(unary(Exp{}, kernels::sub(t, shift)), dims, true);
        return kernels::add(unary(Log{}, sum), shift);
      },
      [=](const Tensor& t, const Tensor& y, const Tensor& dy) {
        const Tensor nothing = compare(Equal{}, y, scalar_like(-infinity, y));
        const Tensor shift = kernels::where(nothing, scalar_like(0, y), y);
        return kernels::mul(dy, unary(Exp{}, kernels::sub(t, shift)));
      });
}

Tensor amax(const Tensor& x, const Shape& dims, bool keepdim) {
  return shared_extreme("amax", x, dims, keepdim, kernels::max);
}

Tensor amin(const Tensor& x, const Shape& dims, bool keepdim) {
  return shared_extreme("amin", x, dims, keepdim, kernels::min);
}

}  // namespace tern
