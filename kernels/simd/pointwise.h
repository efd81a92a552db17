// Pointwise loops over rows of elements: the work inside kernels/pointwise.cpp.
//
// Pointers are to elements of `dtype`; strides count elements. Nothing here allocates, starts threads or
// throws. float16 and bfloat16 are computed in float32 and rounded once.
#pragma once

#include <tern/core/dtype.h>
#include <tern/kernels/binary_math.h>
#include <tern/kernels/unary_math.h>

#include <cstdint>

namespace tern::simd {

/// y[i * y_stride] from a[i * a_stride] and b[i * b_stride], i < count.
struct BinaryRow {
  const void* a;
  const void* b;
  void* y;
  int64_t count, a_stride, b_stride, y_stride;
  bool a_wide, b_wide;  ///< a is (b is) one float for a row of a half type
};

/// One instruction set's functions. A dtype that an operation does not serve must not be asked for.
struct PointwiseKernels {
  void (*unary)(const UnaryMath&, DType, const void* x, void* y, int64_t count);
  /// `saved` is the input or the output, whichever the maths keeps.
  void (*unary_backward)(const UnaryMath&, DType, const void* saved, const void* dy, void* dx, int64_t count);
  void (*binary)(const BinaryMath&, DType, const BinaryRow&);
  /// y is bool.
  void (*compare)(const Comparison&, DType, const BinaryRow&);
};

/// The functions for this machine's instruction set (isa.h).
const PointwiseKernels& pointwise_kernels();

}  // namespace tern::simd
