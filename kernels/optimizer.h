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

struct AdamwOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
};

struct AdamwEntry {
  Tensor parameter;
  Tensor gradient;
  Tensor mean;        ///< exp_avg: running mean of the gradient, 0 before the first step
  Tensor square;      ///< exp_avg_sq: running mean of its square, 0 before the first step
  Tensor max_square;  ///< largest `square` so far, 0 before the first step; undefined without amsgrad
  int64_t step = 1;   ///< the number of this step, from 1: for the bias correction
};

/// p *= 1 - lr * weight_decay; mean += (1 - beta1) * (g - mean); square = beta2 * square + (1 - beta2) * g *
/// g; p -= lr / (1 - beta1^step) * mean / (sqrt(square, or max_square) / sqrt(1 - beta2^step) + eps).
void adamw_step(std::span<const AdamwEntry> entries, const AdamwOptions& options);

}  // namespace tern::kernels
