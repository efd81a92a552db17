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

/// As kernels::adam_step, with what depends on the number of the step worked out.
struct AdamStep {
  double shrink;  ///< 1 - lr * weight_decay where decay is decoupled
  double decay;   ///< what is added to the gradient, times the parameter, where it is not
  double beta1, beta2, eps;
  double step_size;   ///< lr / (1 - beta1^step)
  double correction;  ///< sqrt(1 - beta2^step)
  bool maximize;
};

/// As kernels::rmsprop_step, whose options these are.
struct RmspropStep {
  double lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
};

/// As kernels::adagrad_step; lr is this step's.
struct AdagradStep {
  double lr, weight_decay, eps;
  bool maximize;
};

/// As kernels::lion_step.
struct LionStep {
  double shrink;  ///< 1 - lr * weight_decay
  double lr, beta1, beta2;
  bool maximize;
};

template <class T>
struct OptimizerFunctions {
  /// `m` is null without momentum.
  void (*sgd)(const SgdStep&, T* p, const T* g, T* m, int64_t count);
  /// `max_square` is null without amsgrad.
  void (*adam)(const AdamStep&, T* p, const T* g, T* mean, T* square, T* max_square, int64_t count);
  /// `mean` is null unless centered, `momentum` without momentum.
  void (*rmsprop)(const RmspropStep&, T* p, const T* g, T* square, T* mean, T* momentum, int64_t count);
  void (*adagrad)(const AdagradStep&, T* p, const T* g, T* sum, int64_t count);
  void (*lion)(const LionStep&, T* p, const T* g, T* mean, int64_t count);
};

/// One instruction set's functions.
struct OptimizerKernels {
  OptimizerFunctions<float> f32;
  OptimizerFunctions<double> f64;
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const OptimizerKernels& optimizer_kernels();

}  // namespace tern::simd
