// Negative log-likelihood with class indices.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/cross_entropy.h>

namespace tern::kernels {

struct NllLoss {
  Tensor loss;     ///< 0-d, or shaped as target (none); x's dtype
  double divisor;  ///< what the mean divides by: the sum of the counted rows' weights
};

/// -weight[target] x[target] for each row of x [C], [N, C] or [N, C, d1, …] (cross_entropy.h says what rows,
/// targets and weights are); 0 where the target is `ignore_index`.
NllLoss nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                 Reduction reduction);

/// dx, contiguous; zero for every reduction where `divisor` (forward's) is 0.
Tensor nll_loss_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& weight,
                         int64_t ignore_index, Reduction reduction, double divisor);

}  // namespace tern::kernels
