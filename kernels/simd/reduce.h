// Reductions of rows and of columns on raw pointers: the inner loops of kernels/reduce.cpp.
#pragma once

#include <tern/core/dtype.h>

#include <cstdint>

namespace tern::simd {

enum class ReduceOp : unsigned char { sum, sum_of_squares, prod, max, min, any, all };

/// What a reduction carries along: a double for floating-point elements, an integer for all others, and for
/// any and all (0 or 1).
union Accumulator {
  double floating;
  int64_t integer;
};

struct ReduceLoops {
  /// accumulator = accumulator combined with x[0], x[stride], … (`count` of them).
  void (*row)(const void* x, int64_t stride, int64_t count, Accumulator* accumulator);
  /// accumulators[j] = accumulators[j] combined with x[j], x[row_stride + j], … (`rows` of them), j <
  /// columns.
  void (*columns)(const void* x, int64_t row_stride, int64_t rows, int64_t columns,
                  Accumulator* accumulators);
};

/// One instruction set's functions.
struct ReduceKernels {
  /// The loops for sum, sum_of_squares, max and min of floating-point elements; null pointers for anything
  /// else.
  ReduceLoops (*find)(ReduceOp op, DType dtype);
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const ReduceKernels& reduce_kernels();

}  // namespace tern::simd
