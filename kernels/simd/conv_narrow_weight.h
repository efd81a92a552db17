// The weight gradient of convolution in narrow groups: part of conv_narrow.cpp.
#pragma once

#include <tern/kernels/simd/conv_lanes.h>
#include <tern/kernels/simd/conv_narrow.h>
#include <tern/kernels/simd/conv_taps.h>

namespace tern::simd::TERN_ISA {

/// Pixels of rows of dy, and what neighbouring taps read of x.
struct TapSum {
  const float* dy;
  const float* x;
  int64_t dy_row, x_row, x_pixel, x_tap;
  float* dweight;  // [tap][width][channels]
  int64_t rows, cols;
  Channels channels;
};

/// How many taps and, for chains of sums to be many, pixels a vector's sums are kept apart for.
template <int G>
constexpr int most_taps = G == 1   ? 4
                          : G == 8 ? 1
                                   : 3;
template <int G>
constexpr int pixels_apart = G == 1   ? 3
                             : G == 2 ? 2
                                      : 1;

template <int G, bool whole, int T>
[[gnu::always_inline]] inline void add_pixel(const TapSum& sum, const float* dy, const float* x,
                                             Vec (*acc)[G]) {
  const Vec d = load_lanes<whole>(dy, sum.channels.all);
  TERN_UNROLL
  for (int t = 0; t < T; ++t) {
    const Vec values = load_lanes<whole>(x + t * sum.x_tap, sum.channels.all);
    for_each_lane<G>([&]<int i>() { acc[t][i] += spread<G, i>(values) * d; });
  }
}

template <bool whole>
[[gnu::always_inline]] inline void add_lanes(float* sums, Vec v, int64_t fresh) {
  if (fresh == vec_floats) return store(sums, load(sums) + v);
  for (int64_t lane = whole ? vec_floats - fresh : 0, end = lane + fresh; lane < end; ++lane)
    sums[lane] += v[lane];
}

/// dweight += the products of T taps with the vector of channels from c on.
template <int G, bool whole, int T>
[[gnu::always_inline]] inline void add_vector(const TapSum& sum, int64_t c, int64_t fresh) {
  constexpr int apart = pixels_apart<G>;
  Vec acc[apart][T][G];
  TERN_UNROLL
  for (int k = 0; k < apart * T * G; ++k) acc[k / G / T][k / G % T][k % G] = Vec{};
  for (int64_t r = 0; r < sum.rows; ++r) {
    const float *dy = sum.dy + r * sum.dy_row + c, *x = sum.x + r * sum.x_row + c;
    int64_t q = 0;
    for (; q + apart <= sum.cols; q += apart) {
      TERN_UNROLL
      for (int u = 0; u < apart; ++u, dy += sum.channels.all, x += sum.x_pixel)
        add_pixel<G, whole, T>(sum, dy, x, acc[u]);
    }
    for (; q < sum.cols; ++q, dy += sum.channels.all, x += sum.x_pixel)
      add_pixel<G, whole, T>(sum, dy, x, acc[0]);
  }
  TERN_UNROLL
  for (int t = 0; t < T; ++t) {
    TERN_UNROLL
    for (int i = 0; i < G; ++i) {
      Vec total = acc[0][t][i];
      TERN_UNROLL
      for (int u = 1; u < apart; ++u) total += acc[u][t][i];
      add_lanes<whole>(sum.dweight + (t * G + i) * sum.channels.all + c, total, fresh);
    }
  }
}

template <int G, bool whole, int T = 1>
void add_taps(const TapSum& sum, int64_t taps) {
  if constexpr (T < most_taps<G>) {
    if (taps > T) return add_taps<G, whole, T + 1>(sum, taps);
  }
  for_each_vector(sum.channels, [&](int64_t c, int64_t fresh) { add_vector<G, whole, T>(sum, c, fresh); });
}

/// Rows of dy and those of x that a row of taps meets there.
template <int G, bool whole>
void add_tap_row(const NarrowConvShape& s, const TapSum& rows) {
  for (int64_t first = 0; first < s.kw; first += most_taps<G>) {
    Taps taps = forward_taps(0, smaller(most_taps<G>, s.kw - first), s.stride_w, s.pad_w, s.dilation_w);
    taps.at += first * s.dilation_w;
    const auto add = [&](int64_t pixel, int64_t pixels, Range cols) {
      if (cols.begin == cols.end) return;
      TapSum sum = rows;
      sum.dy += pixel * s.c;
      sum.x += (taps.at + pixel * s.stride_w + cols.begin * s.dilation_w) * s.c;
      sum.dweight += (first + cols.begin) * G * s.c;
      sum.cols = pixels;
      add_taps<G, whole>(sum, cols.end - cols.begin);
    };
    for_each_pixel(
        taps, s.stride_w, s.ow, s.w, [&](int64_t j, Range cols) { add(j, 1, cols); },
        [&](int64_t begin, int64_t end) {
          add(begin, end - begin, {0, taps.count});
        });
  }
}

/// Rows of one image's dy, from row `first` on.
template <int G, bool whole>
void add_image_rows(const NarrowConvShape& s, const float* dy, const float* x, float* dweight, int64_t first,
                    int64_t rows, const Channels& channels) {
  TapSum sum = {};
  sum.dy_row = s.ow * s.c;
  sum.x_row = s.stride_h * s.w * s.c;
  sum.x_pixel = s.stride_w * s.c;
  sum.x_tap = s.dilation_w * s.c;
  sum.channels = channels;
  for (int64_t r = 0; r < s.kh; ++r) {
    const int64_t at = first * s.stride_h - s.pad_h + r * s.dilation_h;
    const Range range = inside(at, s.stride_h, rows, s.h);
    if (range.begin == range.end) continue;
    sum.dy = dy + (first + range.begin) * sum.dy_row;
    sum.x = x + (at + range.begin * s.stride_h) * s.w * s.c;
    sum.dweight = dweight + r * s.kw * G * s.c;
    sum.rows = range.end - range.begin;
    add_tap_row<G, whole>(s, sum);
  }
}

template <int G, bool whole>
void add_rows(const NarrowConvShape& s, const float* dy, const float* x, float* dweight, int64_t begin,
              int64_t end) {
  constexpr int64_t pixels = 128;
  const int64_t most = larger(1, pixels / s.ow);
  for (int64_t item = begin; item < end;) {
    const int64_t image = item / s.oh, first = item % s.oh;
    const int64_t rows = smaller(smaller(most, s.oh - first), end - item);
    for_each_block(s.c, 2 * rows * s.ow, [&](const Channels& channels) {
      add_image_rows<G, whole>(s, dy + image * s.oh * s.ow * s.c, x + image * s.h * s.w * s.c, dweight, first,
                               rows, channels);
    });
    item += rows;
  }
}

}  // namespace tern::simd::TERN_ISA
