// Pointwise operations on raw tensors: one variable, two variables with broadcasting, comparisons.
//
// A result is dense. With one operand it keeps that operand's order of dimensions; with two, the order of the
// first operand that has the result's shape and is dense, otherwise it is contiguous.
#pragma once

#include <tern/core/scalar.h>
#include <tern/core/tensor.h>
#include <tern/kernels/binary_math.h>
#include <tern/kernels/unary_math.h>

#include <initializer_list>

namespace tern::kernels {

/// y = math(x), element by element. Floating-point x; functions that take integers serve those too (not
/// bool). Throws Error for any other dtype.
Tensor unary(const UnaryMath& math, const Tensor& x);

/// dx from dy and what the maths keeps: the input, or the output when keeps_output().
Tensor unary_backward(const UnaryMath& math, const Tensor& saved, const Tensor& dy);

bool keeps_output(const UnaryMath& math);
const char* name(const UnaryMath& math);

/// The dtype in which two operands meet, as in PyTorch: promote() of their dtypes, except that a 0-d operand,
/// and even more so a number (scalar_like), counts only when its kind (floating-point > integer > bool) is
/// higher than the other's.
DType result_type(const Tensor& a, const Tensor& b);

/// The strides of a result of `shape`: those of the first operand that fills it and is dense.
Strides result_strides(const Shape& shape, std::initializer_list<const Tensor*> operands);

/// A 0-d tensor that meets `x` as a number of the program does: in x's dtype, or in float32 (int64) when it
/// is of a higher kind than x. It holds more than a half type or a short integer can, so that `float16 tensor
/// * 1e-8` rounds the product alone, and `uint8 tensor > -1` is true.
Tensor scalar_like(Scalar scalar, const Tensor& x);

/// a (op) b with broadcasting, in result_type(a, b); `div` of integers gives float32. A 0-d operand meets the
/// half types in float32, as they compute. Throws Error when shapes do not broadcast or devices differ.
Tensor binary(const BinaryMath& math, const Tensor& a, const Tensor& b);

/// a (op)= b in place; b broadcasts to a's shape and is converted to a's dtype; it may be another view of a's
/// memory, what it held before counts. Throws Error when the result would not fit a, or a overlaps itself.
void binary_(const BinaryMath& math, const Tensor& a, const Tensor& b);

/// bool tensor of a (op) b with broadcasting, compared in result_type(a, b), or in int64 with an integer that
/// this type does not hold.
Tensor compare(const Comparison& math, const Tensor& a, const Tensor& b);

inline Tensor add(const Tensor& a, const Tensor& b) { return binary(Add{}, a, b); }
inline Tensor sub(const Tensor& a, const Tensor& b) { return binary(Sub{}, a, b); }
inline Tensor mul(const Tensor& a, const Tensor& b) { return binary(Mul{}, a, b); }
inline Tensor div(const Tensor& a, const Tensor& b) { return binary(Div{}, a, b); }
inline Tensor neg(const Tensor& x) { return unary(Neg{}, x); }
inline void add_(const Tensor& a, const Tensor& b) { binary_(Add{}, a, b); }
inline void mul_(const Tensor& a, const Tensor& b) { binary_(Mul{}, a, b); }

}  // namespace tern::kernels
