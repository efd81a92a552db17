// Arithmetic and comparison with broadcasting, and functions of one variable. All but the comparisons are
// differentiable.
//
// Operands of two dtypes meet as in PyTorch; a number takes the tensor's dtype unless it is of a higher kind
// (floating-point over integer over bool). Throws Error when shapes do not broadcast, devices differ or a
// dtype is not served.
#pragma once

#include <tern/core/scalar.h>
#include <tern/core/tensor.h>

#include <optional>

namespace tern {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
/// True division: integers give float32.
Tensor div(const Tensor& a, const Tensor& b);

Tensor add(const Tensor& a, Scalar b);
Tensor sub(const Tensor& a, Scalar b);
Tensor mul(const Tensor& a, Scalar b);
Tensor div(const Tensor& a, Scalar b);
Tensor sub(Scalar a, const Tensor& b);
Tensor div(Scalar a, const Tensor& b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }

// In place: x keeps its dtype, and an expanded view throws Error. While recording, a leaf that requires a
// gradient, and a tensor with recorded views, throw Error too.
const Tensor& add_(const Tensor& x, const Tensor& y);
const Tensor& sub_(const Tensor& x, const Tensor& y);
const Tensor& mul_(const Tensor& x, const Tensor& y);
const Tensor& div_(const Tensor& x, const Tensor& y);
const Tensor& add_(const Tensor& x, Scalar y);
const Tensor& sub_(const Tensor& x, Scalar y);
const Tensor& mul_(const Tensor& x, Scalar y);
const Tensor& div_(const Tensor& x, Scalar y);
/// x = src, broadcast and converted.
const Tensor& copy_(const Tensor& x, const Tensor& src);
const Tensor& fill_(const Tensor& x, Scalar value);
const Tensor& zero_(const Tensor& x);

inline const Tensor& operator+=(const Tensor& x, const Tensor& y) { return add_(x, y); }
inline const Tensor& operator-=(const Tensor& x, const Tensor& y) { return sub_(x, y); }
inline const Tensor& operator*=(const Tensor& x, const Tensor& y) { return mul_(x, y); }
inline const Tensor& operator/=(const Tensor& x, const Tensor& y) { return div_(x, y); }
inline const Tensor& operator+=(const Tensor& x, Scalar y) { return add_(x, y); }
inline const Tensor& operator-=(const Tensor& x, Scalar y) { return sub_(x, y); }
inline const Tensor& operator*=(const Tensor& x, Scalar y) { return mul_(x, y); }
inline const Tensor& operator/=(const Tensor& x, Scalar y) { return div_(x, y); }

Tensor neg(const Tensor& x);
inline Tensor operator-(const Tensor& x) { return neg(x); }
/// e^x.
Tensor exp(const Tensor& x);
/// Natural logarithm: -inf at 0, NaN below.
Tensor log(const Tensor& x);
/// Square root: NaN below 0.
Tensor sqrt(const Tensor& x);
Tensor tanh(const Tensor& x);
/// max(x, 0); NaN stays NaN. The gradient at 0 is 0.
Tensor relu(const Tensor& x);
/// |x|; the gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// -1, 0 or 1; 0 for NaN. Its gradient is zero, as are those of round, floor and ceil.
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
/// 1 / x.
Tensor reciprocal(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
/// log(1 + x), exact near 0.
Tensor log1p(const Tensor& x);
/// e^x - 1, exact near 0.
Tensor expm1(const Tensor& x);
/// The error function.
Tensor erf(const Tensor& x);
/// To the nearest integer, of two the even one.
Tensor round(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// 1 / (1 + e^-x).
Tensor sigmoid(const Tensor& x);
/// x between two bounds, of which one may be absent; where min > max, max. NaN stays NaN. The gradient passes
/// where min < x < max. Throws Error for no bound, for NaN as one, and
/// where no value of an integer dtype lies between them.
Tensor clamp(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});

/// a to the power of b. Integers stay integers; an integer to a negative number as exponent throws Error. The
/// gradient of a^0 is 0, and so is that of the exponent where a = 0 and b >= 0.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, Scalar b);
Tensor pow(Scalar a, const Tensor& b);

/// The larger (smaller) of a and b; NaN when one of them is. Of equals each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

/// a where `condition` (bool) is true, b elsewhere; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
Tensor where(const Tensor& condition, Scalar a, const Tensor& b);
/// x with `value` where `mask` (bool, broadcast to x's shape) is true. x keeps its dtype.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

/// bool tensors; whatever is not zero counts as true.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

/// bool tensors; with NaN all but ne are false.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Scalar b);
Tensor ne(const Tensor& a, Scalar b);
Tensor lt(const Tensor& a, Scalar b);
Tensor le(const Tensor& a, Scalar b);
Tensor gt(const Tensor& a, Scalar b);
Tensor ge(const Tensor& a, Scalar b);

inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, Scalar b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, Scalar b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return ge(a, b); }

/// True when both have one shape and dtype and all elements are equal (NaN equals nothing).
bool equal(const Tensor& a, const Tensor& b);
/// True when both have one shape and |a - b| <= atol + rtol |b| everywhere; `equal_nan` lets NaN equal NaN.
/// Floating-point.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);

}  // namespace tern
