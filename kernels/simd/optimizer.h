// Steps of optimizers on runs of elements: the work inside kernels/optimizer.cpp.
//
// Runs are dense and of float or double alone (half types are converted around a call). What happens to an
// element does not depend on its place in the run. Nothing here allocates, starts threads or throws.
#pragma once

#include <cstdint>

namespace tern::simd {

/// As kernels::sgd_step, whose options these are.
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  ///< the momentum buffer has no value yet
};

/// As kernels::adamw_step, with what depends on the number of the step worked out.
struct AdamwStep {
  double shrink;  ///< 1 - lr * weight_decay
  double beta1, beta2, eps;
  double step_size;   ///< lr / (1 - beta1^step)
  double correction;  ///< sqrt(1 - beta2^step)
  bool maximize;
};

template <class T>
struct OptimizerFunctions {
  /// `m` is null without momentum.
  void (*sgd)(const SgdStep&, T* p, const T* g, T* m, int64_t count);
  /// `max_square` is null without amsgrad.
  void (*adamw)(const AdamwStep&, T* p, const T* g, T* mean, T* square, T* max_square, int64_t count);
};

/// One instruction set's functions.
struct OptimizerKernels {
  OptimizerFunctions<float> f32;
  OptimizerFunctions<double> f64;
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const OptimizerKernels& optimizer_kernels();

}  // namespace tern::simd
