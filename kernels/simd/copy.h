// Conversions between floating-point types, repetitions, reversals and transpositions on raw pointers: the
// inner work of kernels/copy.cpp.
#pragma once

#include <tern/core/dtype.h>

#include <cstddef>
#include <cstdint>

namespace tern::simd {

/// `count` elements from src, converted, to dst; both dense.
using ConvertFunction = void (*)(const void* src, void* dst, int64_t count);

/// Moves of elements of one size. Nothing overlaps.
struct MoveFunctions {
  /// dst[i] = *src
  void (*repeat)(const void* src, void* dst, int64_t count);
  /// dst[i] = src[-i]
  void (*reverse)(const void* src, void* dst, int64_t count);
  /// dst[c * dst_stride + r] = src[r * src_stride + c]
  void (*transpose)(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t rows,
                    int64_t columns);
};

/// One instruction set's functions.
struct CopyKernels {
  /// The conversion between two different types of float32, float64, float16, bfloat16, or from uint8 to one
  /// of them; null for any other pair.
  ConvertFunction (*convert)(DType from, DType to);
  MoveFunctions moves[4];  ///< of elements of 1, 2, 4 and 8 bytes
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const CopyKernels& copy_kernels();
/// Its moves of elements of 1, 2, 4 or 8 bytes.
const MoveFunctions& move_functions(size_t bytes);

}  // namespace tern::simd
