// Which taps of a window meet an image along one dimension, where all of it is linear: in the number of the
// tap, and in the number of the place.
#pragma once

#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

struct Range {
  int64_t begin, end;
};

constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The k in [0, count) with 0 <= at + k * step < size.
constexpr Range inside(int64_t at, int64_t step, int64_t count, int64_t size) {
  if (step < 0) at = size - 1 - at, step = -step;  // seen from the other end
  const int64_t begin = at < 0 ? smaller(divide_up(-at, step), count) : 0;
  const int64_t end = at < size ? smaller((size - 1 - at) / step + 1, count) : 0;
  return {begin, larger(begin, end)};
}

/// Of a window's taps, number first + t * step reads index at + t * move, for t < count.
struct Taps {
  int64_t first, step, count, at, move;
};

/// Those of the window whose result is `place`.
constexpr Taps forward_taps(int64_t place, int64_t taps, int64_t stride, int64_t pad, int64_t dilation) {
  return {0, 1, taps, place * stride - pad, dilation};
}

/// Those through which the input's `place` meets results, which are the indices: place + pad = index * stride
/// + tap * dilation.
constexpr Taps backward_taps(int64_t place, int64_t taps, int64_t stride, int64_t pad, int64_t dilation) {
  int64_t divisor = stride;
  for (int64_t rest = dilation % stride; rest != 0;) {
    const int64_t next = divisor % rest;
    divisor = rest, rest = next;
  }
  const int64_t step = stride / divisor, most = smaller(taps, step);
  int64_t first = 0;
  while (first < most && (place + pad - first * dilation) % stride != 0) ++first;
  if (first == most) return {0, 1, 0, 0, 1};
  return {first, step, divide_up(taps - first, step), (place + pad - first * dilation) / stride,
          -(dilation / divisor)};
}

/// Calls border(j, taps inside for pixel j) and interior(begin, end), where all taps are inside, for the
/// pixels j < count: pixel j reads taps.at + j * step instead of taps.at.
template <class Border, class Interior>
[[gnu::always_inline]] inline void for_each_pixel(const Taps& taps, int64_t step, int64_t count, int64_t size,
                                                  const Border& border, const Interior& interior) {
  const int64_t reach = (taps.count - 1) * taps.move;
  const Range a = inside(taps.at, step, count, size), b = inside(taps.at + reach, step, count, size);
  const int64_t begin = larger(a.begin, b.begin), end = larger(begin, smaller(a.end, b.end));
  const auto at_border = [&](int64_t j) {
    border(j, inside(taps.at + j * step, taps.move, taps.count, size));
  };
  for (int64_t j = 0; j < begin; ++j) at_border(j);
  if (begin < end) interior(begin, end);
  for (int64_t j = end; j < count; ++j) at_border(j);
}

}  // namespace tern::simd::TERN_ISA
