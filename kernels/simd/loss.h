// Losses of runs of elements: the work inside kernels/loss.cpp.
//
// Runs are dense and of float or double alone (other types are converted around a call). Nothing here
// allocates, starts threads or throws.
#pragma once

#include <tern/kernels/loss_math.h>

#include <cstdint>

namespace tern::simd {

/// What is computed of a loss: its value, or its slope at the input or at the target.
enum class LossPart : unsigned char { value, input_slope, target_slope };

template <class T>
struct LossRun {
  const T *x, *target;
  const T* factor;    ///< what each element is multiplied with, besides `scale`
  const T* positive;  ///< the weight of positive targets
  T scale;
  int64_t count;
};

/// One instruction set's functions: y = scale factor part(x, target, positive).
struct LossKernels {
  void (*f32)(const LossMath&, LossPart, const LossRun<float>&, float* y);
  void (*f64)(const LossMath&, LossPart, const LossRun<double>&, double* y);
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const LossKernels& loss_kernels();

}  // namespace tern::simd
