// The softmax inside attention, a row of scores at a time: the work inside kernels/attention.cpp.
#pragma once

#include <cstdint>

namespace tern::simd {

/// The scores of one query, and what its keys are allowed to say. At most one of `added` and `kept` is given.
template <class T>
struct AttentionRow {
  T* scores;           ///< become weights
  int64_t size, seen;  ///< keys from `seen` on get weight 0
  const T* added;      ///< added to the scores, or null
  const bool* kept;    ///< false: weight 0; or null
  int64_t mask_stride;
};

template <class T>
struct AttentionLoops {
  /// Softmax of the scores; all zero when none is left above -inf.
  void (*weights)(const AttentionRow<T>&);
  /// dy = y (dy - sum of dy y), in place.
  void (*backward)(const T* y, T* dy, int64_t size);
};

struct AttentionKernels {
  AttentionLoops<float> for_float;
  AttentionLoops<double> for_double;
};

/// The kernels for this machine's instruction set, chosen once (see isa.h).
const AttentionKernels& attention_kernels();

}  // namespace tern::simd
