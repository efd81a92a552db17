// Convolution in float32 whose groups hold fewer channels than a vector has lanes: 1 (depthwise, also with
// several results a channel), 2, 4 or 8. Internal to kernels/conv.cpp.
#pragma once

#include <tern/kernels/conv_gemm.h>

namespace tern::kernels {

bool is_narrow(const ConvSizes& sizes);

/// y = conv(x) + bias, which may be undefined; x and y NHWC.
void conv_narrow_forward(const ConvSizes& sizes, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& y);

/// dx is overwritten; dy and dx NHWC.
void conv_narrow_backward_data(const ConvSizes& sizes, const Tensor& dy, const Tensor& weight,
                               const Tensor& dx);

/// dweight (any strides) is overwritten; dy and x NHWC.
void conv_narrow_backward_weight(const ConvSizes& sizes, const Tensor& dy, const Tensor& x,
                                 const Tensor& dweight);

}  // namespace tern::kernels
