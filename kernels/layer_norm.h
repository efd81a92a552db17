// Normalisation of each sample by itself: layer norm (Ba, Kiros & Hinton, 2016, arXiv:1607.06450) and RMS
// norm (Zhang & Sennrich, 2019, arXiv:1910.07467) on raw tensors.
#pragma once

#include <tern/kernels/batch_norm.h>

namespace tern::kernels {

struct LayerNorm {
  Tensor y;     ///< contiguous
  Tensor mean;  ///< float64, one a row; undefined for RMS norm
  Tensor rstd;  ///< float64, one a row
};

/// y = (x - mean) / sqrt(var + eps) weight + bias over the last dimensions of x, whose shape is
/// `normalized_shape` (at least one), with the biased variance. weight and bias have that shape or are
/// undefined. Floating-point x. Throws Error when shapes and dtypes do not fit.
LayerNorm layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                     double eps);

/// y = x / sqrt(mean of x^2 + eps) weight, like layer_norm().
LayerNorm rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, double eps);

/// The gradients of either.
NormGradients layer_norm_backward(const Tensor& dy, const Tensor& x, const Shape& normalized_shape,
                                  const LayerNorm& forward, const Tensor& weight, DType bias_dtype,
                                  NormWants wants);

}  // namespace tern::kernels
