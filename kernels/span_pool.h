// Pooling over spans of rows and columns on raw tensors: averages, and adaptive averages and maxima.
//
// Computation is in NHWC; results are channels-last. Half types compute in float32 and round once. Results
// have the same bits for any number of threads.
#pragma once

#include <tern/kernels/reduce.h>
#include <tern/kernels/window.h>

#include <optional>

namespace tern {

struct AvgPool2dOptions {
  std::optional<Size2> stride = {};  ///< by default the kernel size: windows side by side
  Size2 padding = 0;                 ///< zeros; at most half the kernel
  bool ceil_mode = false;  ///< the output size is rounded up, as long as the last window starts inside the
                           ///< input or its left padding; what it reaches beyond both does not count
  bool count_include_pad = true;                 ///< whether padding counts in the divisor
  std::optional<int64_t> divisor_override = {};  ///< what sums are divided by in place of the count; not 0
};

/// A height and a width to be reached; one number means both, none keeps that of the input.
struct OutputSize2 {
  std::optional<int64_t> h, w;
  OutputSize2(int64_t both) : h(both), w(both) {}
  OutputSize2(int both) : h(both), w(both) {}
  OutputSize2(std::optional<int64_t> height, std::optional<int64_t> width) : h(height), w(width) {}
};

namespace kernels {

/// Which rows and columns of an image each output covers: int64 [outputs, 3], each a simd::PoolSpan.
struct PoolSpans {
  Tensor rows, columns;
  int64_t divisor = 0;  ///< 0: the number of places covered
};

/// The windows of avg_pool2d on x [N, C, H, W]. Throws Error when the options do not fit.
PoolSpans avg_pool2d_spans(const Shape& x, Size2 kernel, const AvgPool2dOptions& options);
/// Output i of `size` covers rows floor(i H / size) to ceil((i + 1) H / size), columns likewise. Throws Error
/// naming `operation` for a negative size and an empty image.
PoolSpans adaptive_spans(const char* operation, const Shape& x, const OutputSize2& size);

/// The average of each window of x [N, C, H, W], floating-point (Error naming `operation` otherwise).
Tensor average_pool(const char* operation, const Tensor& x, const PoolSpans& spans);
/// dx, shaped `x_shape`.
Tensor average_pool_backward(const Tensor& dy, const Shape& x_shape, const PoolSpans& spans);

/// The largest element of each window and where it is in the image, row * W + column: of equals the first;
/// NaN counts as largest (of several, the last is named).
ValuesAndIndices span_max_pool(const char* operation, const Tensor& x, const PoolSpans& spans);
/// dx, shaped `x_shape`: each dy goes to its index.
Tensor span_max_pool_backward(const Tensor& dy, const Tensor& indices, const Shape& x_shape);

}  // namespace kernels
}  // namespace tern
