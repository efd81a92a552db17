// Convolution by the direct float32 kernels: hands out their items and scratch to the threads. Internal to
// kernels/conv.cpp.
#pragma once

#include <tern/kernels/conv_gemm.h>

namespace tern::kernels {

/// y = conv(x) + bias, through ReLU if `relu`, and through a 2x2 max pool when `argmax` (uint8) is defined.
/// x, y and argmax NHWC.
void conv_direct_forward(const ConvSizes& sizes, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         bool relu, const Tensor& y, const Tensor& argmax);

/// dx is overwritten; the gradient's tensors and dx are NHWC.
void conv_direct_backward_data(const ConvSizes& sizes, const Conv2dOutputGradient& gradient,
                               const Tensor& weight, const Tensor& dx);

/// dweight (any strides) and, where defined, dbias are overwritten.
void conv_direct_backward_weight(const ConvSizes& sizes, const Conv2dOutputGradient& gradient,
                                 const Tensor& x, const Tensor& dweight, const Tensor& dbias);

}  // namespace tern::kernels
