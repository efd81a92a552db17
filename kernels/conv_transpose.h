// Transposed two-dimensional convolution on raw tensors: conv2d's gradient of the input, as an operation.
#pragma once

#include <tern/kernels/conv.h>

namespace tern {

struct ConvTranspose2dOptions {
  Size2 stride = 1;
  Size2 padding = 0;         ///< taken off on each side of the result
  Size2 output_padding = 0;  ///< added to the result's size at the far side; below stride or below dilation
  int64_t groups = 1;
  Size2 dilation = 1;
};

namespace kernels {

/// The shape of conv_transpose2d's result: OH = (H - 1) stride - 2 padding + dilation (KH - 1) +
/// output_padding
/// + 1. Throws Error when shapes or options do not fit.
Shape conv_transpose2d_shape(const Shape& x, const Shape& weight, const ConvTranspose2dOptions& options);

/// y [N, OC, OH, OW], channels-last, from x [N, IC, H, W], weight [IC, OC / groups, KH, KW] and bias [OC] or
/// undefined; floating-point of one dtype (Error otherwise). output_padding is below stride.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options);

}  // namespace kernels
}  // namespace tern
