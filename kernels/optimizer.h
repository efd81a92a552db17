// Steps of optimizers: all parameters of a group in one parallel pass.
//
// Formulas, and their order of operations, are PyTorch's. Parameters are floating-point of any dense strides;
// a gradient may have others. Each list may mix dtypes; the state of a half-typed parameter is of its dtype
// or float32. Half types compute in float32 and round once. Everything is written in place and throws Error
// when shapes, dtypes or devices differ within an entry, or a target overlaps itself.
#pragma once

#include <tern/core/tensor.h>

#include <span>

namespace tern::kernels {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};

struct SgdEntry {
  Tensor parameter;
  Tensor gradient;
  Tensor momentum;          ///< the momentum buffer; undefined without momentum
  bool first_step = false;  ///< the buffer has no value yet: it becomes the gradient (after weight decay)
};

/// g = ±gradient + weight_decay * p; m = momentum * m + (1 - dampening) * g; p -= lr * (m, or g + momentum *
/// m with nesterov, or g without momentum).
void sgd_step(std::span<const SgdEntry> entries, const SgdOptions& options);

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
  bool decoupled = true;  ///< AdamW: decay shrinks the parameter; else it is added to the gradient
};

struct AdamEntry {
  Tensor parameter;
  Tensor gradient;
  Tensor mean;        ///< exp_avg: running mean of the gradient, 0 before the first step
  Tensor square;      ///< exp_avg_sq: running mean of its square, 0 before the first step
  Tensor max_square;  ///< largest `square` so far, 0 before the first step; undefined without amsgrad
  int64_t step = 1;   ///< the number of this step, from 1: for the bias correction
};

/// p *= 1 - lr * weight_decay, or g += weight_decay * p; mean += (1 - beta1) * (g - mean); square = beta2 *
/// square + (1 - beta2) * g * g; p -= lr / (1 - beta1^step) * mean / (sqrt(square, or max_square) / sqrt(1 -
/// beta2^step) + eps).
void adam_step(std::span<const AdamEntry> entries, const AdamOptions& options);

struct RmspropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;
};

struct RmspropEntry {
  Tensor parameter;
  Tensor gradient;
  Tensor square;    ///< square_avg: running mean of the squared gradient, 0 before the first step
  Tensor mean;      ///< grad_avg: running mean of the gradient, 0 before; undefined unless centered
  Tensor momentum;  ///< momentum_buffer, 0 before; undefined without momentum
};

/// g = ±gradient + weight_decay * p; square = alpha * square + (1 - alpha) * g * g; v = square (centered:
/// |square - mean^2| with mean += (1 - alpha) * (g - mean)); u = g / (sqrt(v) + eps); p -= lr *
/// (u, or momentum = momentum_factor * momentum + u).
void rmsprop_step(std::span<const RmspropEntry> entries, const RmspropOptions& options);

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double eps = 1e-10;
  bool maximize = false;
};

struct AdagradEntry {
  Tensor parameter;
  Tensor gradient;
  Tensor sum;        ///< of squared gradients
  int64_t step = 1;  ///< the number of this step, from 1: for the decay of the rate
};

/// g = ±gradient + weight_decay * p; sum += g * g; p -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum) +
/// eps).
void adagrad_step(std::span<const AdagradEntry> entries, const AdagradOptions& options);

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  bool maximize = false;
};

struct LionEntry {
  Tensor parameter;
  Tensor gradient;
  Tensor mean;  ///< exp_avg: running mean of the gradient, 0 before the first step
};

/// p = p * (1 - lr * weight_decay) - lr * sign(beta1 * mean + (1 - beta1) * g); mean = beta2 * mean + (1 -
/// beta2) * g. NaN stays NaN.
void lion_step(std::span<const LionEntry> entries, const LionOptions& options);

}  // namespace tern::kernels
