// Two-dimensional convolution (cross-correlation, as everywhere in deep learning) and its gradients on raw
// tensors.
//
// Computation is in NHWC: x and dy in other orders are converted first, results are channels-last. float32
// runs through direct kernels (kernels/simd/conv.h), in groups of few channels through others
// (conv_narrow.h), everything else through matrix products (conv_gemm.h). float16 and bfloat16 compute in
// float32 and round once. Results have the same bits for any number of threads.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/window.h>

namespace tern {

struct Conv2dOptions {
  Size2 stride = 1;
  Size2 padding = 0;  ///< zeros added on each side
  Size2 dilation = 1;
  int64_t groups = 1;
};

namespace kernels {

/// y [N, OC, OH, OW] from x [N, IC, H, W], weight [OC, IC / groups, KH, KW] and bias [OC] or undefined, with
/// OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1, through max(y, 0) if `relu`. Throws Error when
/// shapes, dtypes or devices do not fit.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options,
              bool relu = false);

/// The gradient that arrives at conv2d's result.
struct Conv2dOutputGradient {
  Tensor dy;
  Tensor y;       ///< the result, where it went through ReLU: dy counts unless y <= 0; otherwise undefined
  Tensor argmax;  ///< of conv2d_relu_max_pool; otherwise undefined
};

/// dx, shaped `x_shape`.
Tensor conv2d_backward_data(const Conv2dOutputGradient& gradient, const Tensor& weight, const Shape& x_shape,
                            const Conv2dOptions& options);

struct Conv2dWeightGradient {
  Tensor dweight;  ///< shaped and strided as weight
  Tensor dbias;    ///< [OC], undefined unless asked for
};

/// dweight, and dbias if `with_bias`.
Conv2dWeightGradient conv2d_backward_weight(const Conv2dOutputGradient& gradient, const Tensor& x,
                                            const Tensor& weight, const Conv2dOptions& options,
                                            bool with_bias);

struct PooledConv2d {
  Tensor y;       ///< [N, OC, OH / 2, OW / 2]
  Tensor argmax;  ///< uint8, as y: which of the four places was the first maximum
};

/// max_pool2d(relu(conv2d(…)), 2) in one pass: the unpooled result never reaches memory. Only where
/// fuses_max_pool() says so.
PooledConv2d conv2d_relu_max_pool(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  const Conv2dOptions& options);

/// True for what conv2d_relu_max_pool serves: float32, no groups, no dilation, an output of at least 2x2,
/// images of up to 2^30 elements.
bool fuses_max_pool(const Tensor& x, const Tensor& weight, const Conv2dOptions& options);

/// The shape of conv2d's result; throws the errors that conv2d throws.
Shape conv2d_shape(const Shape& x, const Shape& weight, const Conv2dOptions& options);

}  // namespace kernels
}  // namespace tern
