#include <tern/kernels/simd/conv_strip.h>

namespace tern::simd::TERN_ISA {
namespace {

void copy(const float* x, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + vec_floats <= count; i += vec_floats) store(y + i, load(x + i));
  for (; i < count; ++i) y[i] = x[i];
}

void copy_where_positive(const float* x, const float* mask, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + vec_floats <= count; i += vec_floats)
    store(y + i, select(load(mask + i) > 0, load(x + i), Vec{}));
  for (; i < count; ++i) y[i] = mask[i] > 0 ? x[i] : 0.0f;
}

void expand(const float* __restrict x, const float* __restrict mask, const uint8_t* __restrict argmax,
            int place, int64_t count, float* __restrict y) {
  if (mask) {
    for (int64_t i = 0; i < count; ++i) y[i] = (argmax[i] == place) & (mask[i] > 0) ? x[i] : 0.0f;
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = argmax[i] == place ? x[i] : 0.0f;
  }
}

void zero(float* y, int64_t count) { __builtin_memset(y, 0, static_cast<size_t>(count) * sizeof(float)); }

/// Values that are contiguous in the image, from the channel `channel` of a pixel on.
void copy_run(const ConvImage& image, int64_t row, int64_t col, int64_t channel, int64_t count, float* y) {
  if (image.pooled) {
    const int64_t pooled_w = image.w / 2;
    if (row / 2 >= image.h / 2 || col / 2 >= pooled_w) return zero(y, count);
    const int64_t at = (row / 2 * pooled_w + col / 2) * image.c + channel;
    const int place = static_cast<int>(row % 2 * 2 + col % 2);
    return expand(image.data + at, image.mask ? image.mask + at : nullptr, image.argmax + at, place, count,
                  y);
  }
  const int64_t at = (row * image.w + col) * image.c + channel;
  if (image.mask) return copy_where_positive(image.data + at, image.mask + at, count, y);
  copy(image.data + at, count, y);
}

}  // namespace

void gather(const ConvImage& image, const ConvWindow& window, int64_t channel, int64_t channels,
            int64_t pitch, float* strip) {
  const int64_t first = window.col < 0 ? -window.col : 0;
  const int64_t room = image.w - window.col < window.cols ? image.w - window.col : window.cols;
  const int64_t last = room > first ? room : first;
  const bool whole = channels == image.c && channels == pitch && !image.pooled;
  for (int64_t r = 0; r < window.rows; ++r, strip += window.cols * pitch) {
    const int64_t row = window.row + r;
    if (row < 0 || row >= image.h || first >= window.cols) {
      zero(strip, window.cols * pitch);
      continue;
    }
    zero(strip, first * pitch);
    zero(strip + last * pitch, (window.cols - last) * pitch);
    if (whole) {
      copy_run(image, row, window.col + first, 0, (last - first) * pitch, strip + first * pitch);
      continue;
    }
    for (int64_t c = first; c < last; ++c) {
      copy_run(image, row, window.col + c, channel, channels, strip + c * pitch);
      if (channels < pitch) zero(strip + c * pitch + channels, pitch - channels);
    }
  }
}

}  // namespace tern::simd::TERN_ISA
