// Runs of Philox numbers, and dropout, on raw pointers: the inner work of kernels/random.cpp and dropout.cpp.
#pragma once

#include <tern/core/dtype.h>

#include <cstdint>

namespace tern::simd {

/// Numbers that one call of `words` writes at most are a multiple of this; see there.
inline constexpr int64_t random_lanes = 16;

/// One instruction set's functions.
struct RandomKernels {
  /// out[4 b + j] = Philox::block(seed, 0, offset + b)[j] for b < blocks; writes up to the next multiple of
  /// random_lanes blocks.
  void (*words)(uint64_t seed, uint64_t offset, int64_t blocks, uint32_t* out);
  /// y[i] = words[i] < limit ? x[i] * scale : 0, computed in float32 (in double for float64).
  void (*dropout)(DType dtype, const void* x, const uint32_t* words, uint32_t limit, double scale, void* y,
                  int64_t count);
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const RandomKernels& random_kernels();

}  // namespace tern::simd
