// Images in another size, by the nearest pixel or bilinearly.
//
// Computation is in NHWC; results are channels-last. float16 and bfloat16 compute in float32 and round once.
#pragma once

#include <tern/kernels/conv.h>

#include <optional>

namespace tern {

/// A factor for the height and one for the width; one number means both.
struct Scale2 {
  double h = 1, w = 1;
  constexpr Scale2(double both) : h(both), w(both) {}
  constexpr Scale2(double height, double width) : h(height), w(width) {}
};

enum class InterpolateMode : unsigned char { nearest, bilinear };

struct InterpolateOptions {
  std::optional<Size2> size = {};           ///< of the result
  std::optional<Scale2> scale_factor = {};  ///< or the result's size by x's, rounded down
  InterpolateMode mode = InterpolateMode::nearest;
  bool align_corners = false;  ///< bilinear: the centres of the corner pixels meet, instead of their corners
};

namespace kernels {

/// y [N, C, OH, OW] from x [N, C, H, W]. Pixel i of the result lies at (i + 1/2) s - 1/2 in x, with s = size
/// in / size out or 1 / scale_factor, or at i (size in - 1) / (size out - 1) with align_corners; nearest
/// takes pixel floor(i s), exactly where `size` is given. A pixel of weight 0 does not take part.
/// Floating-point dtypes. Throws Error when the options contradict each other or a size is not above 0.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

/// dx, shaped `x_shape`.
Tensor interpolate_backward(const Tensor& dy, const Shape& x_shape, const InterpolateOptions& options);

}  // namespace kernels
}  // namespace tern
