// Several arrays into one, element by element, on raw pointers for one thread: what ranks of a process group
// do with each other's pieces.
#pragma once

#include <tern/core/dtype.h>

#include <cstdint>

namespace tern::simd {

/// out[i] = the combination of parts[0][i], parts[1][i], …, in this order, for i below `count`. At least two
/// parts. `out` may be one of them; otherwise nothing overlaps. float16 and bfloat16 are combined in float32
/// and rounded once; integers wrap around; NaN wins every minimum and maximum.
using CombineFunction = void (*)(const void* const* parts, int part_count, void* out, int64_t count);

/// Rows by DType; columns: sum, average (the sum divided by the number of parts), minimum, maximum, product.
/// Sum and average of bools, and average of integers, are of no use.
struct CombineKernels {
  CombineFunction of[8][5];
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const CombineKernels& combine_kernels();

}  // namespace tern::simd
