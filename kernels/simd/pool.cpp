#include <tern/kernels/simd/pool.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

extern const PoolKernels pool_table;

namespace {

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// best = max(best, x) with the place of the winner.
template <class Index>
void take_larger(const float* __restrict x, int64_t channels, Index place, float* __restrict best,
                 Index* __restrict argmax) {
  for (int64_t c = 0; c < channels; ++c) {
    const float v = x[c];
    const bool better = (v > best[c]) | (v != v);
    best[c] = better ? v : best[c];
    argmax[c] = better ? place : argmax[c];
  }
}

template <class Index>
void start(const float* __restrict x, int64_t channels, Index place, float* __restrict best,
           Index* __restrict argmax) {
  for (int64_t c = 0; c < channels; ++c) best[c] = x[c];
  for (int64_t c = 0; c < channels; ++c) argmax[c] = place;
}

template <class Index>
void forward(const PoolShape& s, const float* x, float* y, Index* argmax, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const float* const image = x + item / s.oh * s.h * s.w * s.c;
    const int64_t top = item % s.oh * s.stride_h - s.pad_h;
    const int64_t r_begin = larger(0, -top), r_end = smaller(s.kh, s.h - top);
    for (int64_t q = 0; q < s.ow; ++q) {
      const int64_t left = q * s.stride_w - s.pad_w;
      const int64_t c_begin = larger(0, -left), c_end = smaller(s.kw, s.w - left);
      const int64_t at = (item * s.ow + q) * s.c;
      for (int64_t r = r_begin; r < r_end; ++r) {
        for (int64_t c = c_begin; c < c_end; ++c) {
          const float* const pixel = image + ((top + r) * s.w + left + c) * s.c;
          const Index place = static_cast<Index>(r * s.kw + c);
          const bool first = r == r_begin && c == c_begin;
          (first ? start<Index> : take_larger<Index>)(pixel, s.c, place, y + at, argmax + at);
        }
      }
    }
  }
}

template <class Index>
void add_where(const float* __restrict dy, const Index* __restrict argmax, Index place, int64_t channels,
               float* __restrict dx) {
  for (int64_t c = 0; c < channels; ++c) dx[c] += argmax[c] == place ? dy[c] : 0.0f;
}

/// The outputs whose windows hold this row or column are [first, last).
struct Range {
  int64_t first, last;
};

Range windows_over(int64_t position, int64_t pad, int64_t kernel, int64_t stride, int64_t outputs) {
  const int64_t over = position + pad - kernel + 1;
  return {over > 0 ? (over + stride - 1) / stride : 0, smaller((position + pad) / stride + 1, outputs)};
}

template <class Index>
void backward(const PoolShape& s, const float* dy, const Index* argmax, float* dx, int64_t begin,
              int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / s.h, row = item % s.h;
    const Range rows = windows_over(row, s.pad_h, s.kh, s.stride_h, s.oh);
    for (int64_t col = 0; col < s.w; ++col) {
      const Range cols = windows_over(col, s.pad_w, s.kw, s.stride_w, s.ow);
      float* const out = dx + (item * s.w + col) * s.c;
      for (int64_t c = 0; c < s.c; ++c) out[c] = 0.0f;
      for (int64_t p = rows.first; p < rows.last; ++p) {
        for (int64_t q = cols.first; q < cols.last; ++q) {
          const int64_t at = ((image * s.oh + p) * s.ow + q) * s.c;
          const int64_t r = row + s.pad_h - p * s.stride_h, c = col + s.pad_w - q * s.stride_w;
          add_where(dy + at, argmax + at, static_cast<Index>(r * s.kw + c), s.c, out);
        }
      }
    }
  }
}

template <class S>
S divisor_of(const SpanPoolShape& s, int64_t p, int64_t q) {
  return static_cast<S>(s.divisor != 0 ? s.divisor : s.rows[p].extent * s.columns[q].extent);
}

// Channels summed at a time, row by row of the window: errors of large windows grow with the sum of its
// sides.
constexpr int64_t block = 64;

template <class S>
void average_window(const SpanPoolShape& s, const S* image, int64_t p, int64_t q, S* __restrict y) {
  const S divisor = divisor_of<S>(s, p, q);
  const PoolSpan rows = s.rows[p], columns = s.columns[q];
  for (int64_t channel = 0; channel < s.c; channel += block) {
    const int64_t channels = smaller(block, s.c - channel);
    S sums[block] = {};
    for (int64_t row = rows.first; row < rows.last; ++row) {
      const S* __restrict x = image + (row * s.w + columns.first) * s.c + channel;
      S partial[block] = {};
      for (int64_t column = columns.first; column < columns.last; ++column, x += s.c) {
        for (int64_t c = 0; c < channels; ++c) partial[c] += x[c];
      }
      for (int64_t c = 0; c < channels; ++c) sums[c] += partial[c];
    }
    for (int64_t c = 0; c < channels; ++c) y[channel + c] = sums[c] / divisor;
  }
}

template <class S>
void average_forward(const SpanPoolShape& s, const S* x, S* y, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const S* const image = x + item / s.oh * s.h * s.w * s.c;
    for (int64_t q = 0; q < s.ow; ++q) average_window(s, image, item % s.oh, q, y + (item * s.ow + q) * s.c);
  }
}

/// Moves [first, last) on to the spans that hold `position`.
void advance(const PoolSpan* spans, int64_t count, int64_t position, Range& range) {
  while (range.first < count && spans[range.first].last <= position) ++range.first;
  while (range.last < count && spans[range.last].first <= position) ++range.last;
}

template <class S>
void average_backward(const SpanPoolShape& s, const S* dy, S* dx, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const S* const image = dy + item / s.h * s.oh * s.ow * s.c;
    Range rows = {0, 0}, columns = {0, 0};
    advance(s.rows, s.oh, item % s.h, rows);
    for (int64_t column = 0; column < s.w; ++column) {
      advance(s.columns, s.ow, column, columns);
      S* __restrict out = dx + (item * s.w + column) * s.c;
      for (int64_t c = 0; c < s.c; ++c) out[c] = 0;
      for (int64_t p = rows.first; p < rows.last; ++p) {
        for (int64_t q = columns.first; q < columns.last; ++q) {
          const S divisor = divisor_of<S>(s, p, q);
          const S* __restrict from = image + (p * s.ow + q) * s.c;
          for (int64_t c = 0; c < s.c; ++c) out[c] += from[c] / divisor;
        }
      }
    }
  }
}

}  // namespace

const PoolKernels pool_table = {{forward<uint8_t>, backward<uint8_t>},
                                {forward<int32_t>, backward<int32_t>},
                                {average_forward<float>, average_backward<float>},
                                {average_forward<double>, average_backward<double>}};

}  // namespace tern::simd::TERN_ISA
