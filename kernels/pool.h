// Max pooling on raw tensors.
//
// Computation is in NHWC; results are channels-last. float32 without dilation runs through
// kernels/simd/pool.h.
#pragma once

#include <tern/kernels/conv.h>

#include <optional>

namespace tern {

struct MaxPool2dOptions {
  std::optional<Size2> stride = {};  ///< by default the kernel size: windows side by side
  Size2 padding = 0;                 ///< counts as minus infinity; at most half the kernel
  Size2 dilation = 1;
  bool ceil_mode = false;  ///< the output size is rounded up, as long as the last window starts inside the
                           ///< input or its left padding
};

namespace kernels {

struct MaxPool2d {
  Tensor y;       ///< [N, C, OH, OW]
  Tensor argmax;  ///< as y: the place of the maximum in its window, row * KW + column; uint8, or int32 for
                  ///< windows above 256
};

/// The largest element of each window of x [N, C, H, W]; of equals the first in row-major order. NaN counts
/// as larger than everything (of several, the last is named). A window wholly in the padding is minus
/// infinity, at place 0. Floating-point dtypes. Throws Error when shapes or options do not fit.
MaxPool2d max_pool2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& options);

/// dx, shaped `x_shape`: each dy goes to the place of its maximum.
Tensor max_pool2d_backward(const Tensor& dy, const Tensor& argmax, const Shape& x_shape, Size2 kernel,
                           const MaxPool2dOptions& options);

/// int64, as argmax: where in the image the maxima are, row * W + column; 0 for a window wholly in the
/// padding.
Tensor max_pool2d_indices(const Tensor& argmax, const Shape& x_shape, Size2 kernel,
                          const MaxPool2dOptions& options);

}  // namespace kernels
}  // namespace tern
