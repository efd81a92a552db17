// Group normalisation (Wu & He, 2018, arXiv:1803.08494) on raw tensors.
#pragma once

#include <tern/kernels/batch_norm.h>

namespace tern::kernels {

struct GroupNorm {
  Tensor y;           ///< in x's order of dimensions where it is contiguous or channels-last
  Tensor mean, rstd;  ///< float64 [N, C]: of the group that a channel is in
};

/// y = (x - mean) / sqrt(var + eps) weight + bias for x [N, C] or [N, C, …], with the mean and the (biased)
/// variance of each sample's `groups` groups of channels; weight and bias are [C] or undefined. Throws Error
/// when shapes and dtypes do not fit, and for a single value per group in all.
GroupNorm group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps);

NormGradients group_norm_backward(const Tensor& dy, const Tensor& x, int64_t groups, const GroupNorm& forward,
                                  const Tensor& weight, DType bias_dtype, NormWants wants);

}  // namespace tern::kernels
