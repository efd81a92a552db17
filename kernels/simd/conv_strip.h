// Copies a part of an image to where the inner kernels read it: padded, masked and with a pool's gradient
// expanded.
#pragma once

#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

/// One image [h][w][c], or `c` channels from pixel to pixel of which some are of interest. A value counts as
/// zero where `mask` (unless null) is 0 or less. With `argmax` the three pointers hold a pool's side, [h /
/// 2][w / 2][c], and the image is zero but at the maxima.
struct ConvImage {
  const float* data;
  const float* mask;
  const uint8_t* argmax;
  int64_t h, w, c;
  bool pooled;
};

/// Floats from pixel to pixel.
constexpr int64_t x_pixel(const ConvShape& s) { return s.groups * s.ic; }
constexpr int64_t y_pixel(const ConvShape& s) { return s.groups * s.oc; }

/// What `taps` of a dilated window span.
constexpr int64_t span_of(int64_t taps, int64_t dilation) { return (taps - 1) * dilation + 1; }

/// Image `n` of the gradient at the output.
inline ConvImage output_gradient(const ConvShape& s, const ConvOutputGradient& g, int64_t n) {
  const int64_t at = n * (s.pool ? (s.oh / 2) * (s.ow / 2) : s.oh * s.ow) * y_pixel(s);
  return {g.dy + at, g.y ? g.y + at : nullptr, g.argmax ? g.argmax + at : nullptr, s.oh, s.ow, y_pixel(s),
          s.pool};
}

/// Rows and columns of an image; outside it there are zeros.
struct ConvWindow {
  int64_t row, rows, col, cols;
};

inline bool inside(const ConvImage& image, const ConvWindow& window) {
  return window.row >= 0 && window.col >= 0 && window.row + window.rows <= image.h &&
         window.col + window.cols <= image.w;
}

/// strip[rows][cols][pitch] = the window's channels [channel, channel + channels), then zeros up to pitch.
void gather(const ConvImage& image, const ConvWindow& window, int64_t channel, int64_t channels,
            int64_t pitch, float* strip);

/// blocks[block][pixel][block width] = rows [row, row + rows) of the image's channels [channel, channel +
/// channels), cut as block_vectors() says, zeros behind the last. The rows' pixels start at number `first` of
/// `pixels`.
void gather_blocks(const ConvImage& image, int64_t row, int64_t rows, int64_t channel, int64_t channels,
                   int64_t first, int64_t pixels, float* blocks);

}  // namespace tern::simd::TERN_ISA
