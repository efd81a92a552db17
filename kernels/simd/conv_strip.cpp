#include <tern/kernels/simd/conv_strip.h>

namespace tern::simd::TERN_ISA {
namespace {

void copy(const float* x, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + vec_floats <= count; i += vec_floats) store(y + i, load(x + i));
  for (; i < count; ++i) y[i] = x[i];
}

void copy_where_passed(const float* x, const float* mask, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + vec_floats <= count; i += vec_floats)
    store(y + i, select(load(mask + i) <= 0, Vec{}, load(x + i)));
  for (; i < count; ++i) y[i] = mask[i] <= 0 ? 0.0f : x[i];
}

void expand(const float* __restrict x, const float* __restrict mask, const uint8_t* __restrict argmax,
            int place, int64_t count, float* __restrict y) {
  if (mask) {
    for (int64_t i = 0; i < count; ++i) y[i] = ((argmax[i] != place) | (mask[i] <= 0)) ? 0.0f : x[i];
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
  if (image.mask) return copy_where_passed(image.data + at, image.mask + at, count, y);
  copy(image.data + at, count, y);
}

constexpr int64_t group = max_vectors * vec_floats;

/// `groups` full groups of one pixel's channels.
template <bool masked>
[[gnu::always_inline]] inline void copy_groups(const float* x, const float* mask, int64_t groups,
                                               int64_t pitch, float* y) {
  for (int64_t g = 0; g < groups; ++g, x += group, mask += masked ? group : 0, y += pitch) {
    TERN_UNROLL
    for (int v = 0; v < max_vectors; ++v) {
      const int at = v * vec_floats;
      store(y + at, masked ? select(load(mask + at) <= 0, Vec{}, load(x + at)) : load(x + at));
    }
  }
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

void gather_blocks(const ConvImage& image, int64_t row, int64_t rows, int64_t channel, int64_t channels,
                   int64_t first, int64_t pixels, float* blocks) {
  const int64_t groups = image.pooled ? 0 : channels / group;
  const int64_t count = rows * image.w, at = row * image.w * image.c + channel;
  float* const y = blocks + first * group;
  for (int64_t p = 0; groups > 0 && p < count; ++p) {
    const float* const x = image.data + at + p * image.c;
    if (image.mask) {
      copy_groups<true>(x, image.mask + at + p * image.c, groups, pixels * group, y + p * group);
    } else {
      copy_groups<false>(x, nullptr, groups, pixels * group, y + p * group);
    }
  }
  for (int64_t o = groups * group; o < channels;) {
    const int64_t width = block_vectors(channels - o) * vec_floats;
    const int64_t valid = channels - o < width ? channels - o : width;
    gather(image, {row, rows, 0, image.w}, channel + o, valid, width, blocks + o * pixels + first * width);
    o += width;
  }
}

}  // namespace tern::simd::TERN_ISA
