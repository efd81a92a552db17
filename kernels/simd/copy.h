// Conversions between floating-point types and transpositions on raw pointers: the inner work of
// kernels/copy.cpp.
#pragma once

#include <tern/core/dtype.h>

#include <cstdint>

namespace tern::simd {

/// `count` elements from src, converted, to dst; both dense.
using ConvertFunction = void (*)(const void* src, void* dst, int64_t count);

/// One instruction set's functions.
struct CopyKernels {
  /// The conversion between two different types of float32, float64, float16, bfloat16, or from uint8 to one
  /// of them; null for any other pair.
  ConvertFunction (*convert)(DType from, DType to);
  /// dst[c * dst_stride + r] = src[r * src_stride + c] for elements of 4 bytes.
  void (*transpose)(const uint32_t* src, int64_t src_stride, uint32_t* dst, int64_t dst_stride, int64_t rows,
                    int64_t columns);
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const CopyKernels& copy_kernels();

}  // namespace tern::simd
