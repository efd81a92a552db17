#include <tern/kernels/simd/conv_narrow.h>

#include <tern/kernels/simd/conv_lanes.h>
#include <tern/kernels/simd/conv_narrow_weight.h>
#include <tern/kernels/simd/conv_taps.h>

namespace tern::simd::TERN_ISA {
namespace {

/// A few pixels of a row of results, from `rows` x `cols` taps.
struct Window {
  const float* x;  // at the first tap of the first pixel
  int64_t x_row, x_col, x_pixel;
  const float* weight;  // [width][channels] at the first tap
  int64_t weight_row, weight_col;
  int64_t rows, cols;
  const float* bias;
  float* y;
  int64_t y_pixel;
  Channels channels;
};

/// P pixels. G channels make a group; there is less than a vector of channels unless `whole`.
template <int G, bool whole, int P>
void compute(const Window& window) {
  const int64_t channels = window.channels.all;
  for_each_vector(window.channels, [&](int64_t c, int64_t) {
    Vec acc[P];
    const Vec bias = window.bias ? load_lanes<whole>(window.bias + c, channels) : Vec{};
    TERN_UNROLL
    for (int p = 0; p < P; ++p) acc[p] = bias;
    for (int64_t r = 0; r < window.rows; ++r) {
      const float* x = window.x + r * window.x_row + c;
      const float* weight = window.weight + r * window.weight_row + c;
      for (int64_t s = 0; s < window.cols; ++s, x += window.x_col, weight += window.weight_col) {
        Vec values[P];
        TERN_UNROLL
        for (int p = 0; p < P; ++p) values[p] = load_lanes<whole>(x + p * window.x_pixel, channels);
        for_each_lane<G>([&]<int i>() {
          const Vec w = load_lanes<whole>(weight + i * channels, channels);
          TERN_UNROLL
          for (int p = 0; p < P; ++p) acc[p] += spread<G, i>(values[p]) * w;
        });
      }
    }
    TERN_UNROLL
    for (int p = 0; p < P; ++p) store_lanes<whole>(window.y + p * window.y_pixel + c, acc[p], channels);
  });
}

template <int G, bool whole>
void compute_run(Window window, int64_t pixels) {
  while (pixels > 0) {
    const int step = pixels >= 8 ? 8 : pixels >= 4 ? 4 : pixels >= 2 ? 2 : 1;
    (step == 8   ? compute<G, whole, 8>
     : step == 4 ? compute<G, whole, 4>
     : step == 2 ? compute<G, whole, 2>
                 : compute<G, whole, 1>)(window);
    window.x += step * window.x_pixel;
    window.y += step * window.y_pixel;
    pixels -= step;
  }
}

/// An image [rows][cols][channels] that a row of results is computed from.
struct Source {
  const float* data;
  int64_t rows, cols;
};

/// The pixels of a row of results that lie window.y_pixel apart, `count` of them: neighbours read columns
/// `step` apart.
template <int G, bool whole>
void compute_pixels(const NarrowConvShape& s, const Source& x, const Taps& row, const Taps& col, int64_t step,
                    int64_t count, Window window) {
  const Range rows = inside(row.at, row.move, row.count, x.rows);
  window.rows = rows.end - rows.begin;
  window.x_row = row.move * x.cols * s.c;
  window.x_col = col.move * s.c;
  window.x_pixel = step * s.c;
  const int64_t tap = s.width * s.c;
  window.weight_row = row.step * s.kw * tap;
  window.weight_col = col.step * tap;
  const int64_t x_row = row.at + rows.begin * row.move, first_row = row.first + rows.begin * row.step;
  const auto run = [&](int64_t pixel, int64_t pixels, Range cols) {
    Window part = window;
    part.cols = cols.end - cols.begin;
    if (part.rows == 0 || part.cols == 0)
      part.rows = part.cols = 0, part.x = x.data;  // nothing of it is read
    else {
      const int64_t x_col = col.at + pixel * step + cols.begin * col.move;
      part.x = x.data + (x_row * x.cols + x_col) * s.c;
      part.weight += (first_row * s.kw + col.first + cols.begin * col.step) * tap;
    }
    part.y += pixel * window.y_pixel;
    compute_run<G, whole>(part, pixels);
  };
  for_each_pixel(
      col, step, count, x.cols, [&](int64_t j, Range cols) { run(j, 1, cols); },
      [&](int64_t begin, int64_t end) {
        run(begin, end - begin, {0, col.count});
      });
}

template <int G, bool whole>
void forward_rows(const NarrowConvShape& s, const float* x, const float* weight, const float* bias, float* y,
                  int64_t begin, int64_t end) {
  const Taps col = forward_taps(0, s.kw, s.stride_w, s.pad_w, s.dilation_w);
  Window window = {};
  window.weight = weight;
  window.bias = bias;
  window.y_pixel = s.c;
  for_each_block(s.c, s.kh * s.w, [&](const Channels& channels) {
    window.channels = channels;
    for (int64_t item = begin; item < end; ++item) {
      window.y = y + item * s.ow * s.c;
      compute_pixels<G, whole>(s, {x + item / s.oh * s.h * s.w * s.c, s.h, s.w},
                               forward_taps(item % s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h), col,
                               s.stride_w, s.ow, window);
    }
  });
}

template <int G, bool whole>
void backward_data_rows(const NarrowConvShape& s, const float* dy, const float* weight, float* dx,
                        int64_t begin, int64_t end) {
  Window window = {};
  window.weight = weight;
  window.y_pixel = s.stride_w * s.c;
  for_each_block(s.c, s.kh * s.ow, [&](const Channels& channels) {
    window.channels = channels;
    for (int64_t item = begin; item < end; ++item) {
      const Taps row = backward_taps(item % s.h, s.kh, s.stride_h, s.pad_h, s.dilation_h);
      // Pixels that are a stride apart are met by the same taps.
      for (int64_t first = 0; first < s.stride_w && first < s.w; ++first) {
        window.y = dx + (item * s.w + first) * s.c;
        compute_pixels<G, whole>(s, {dy + item / s.h * s.oh * s.ow * s.c, s.oh, s.ow}, row,
                                 backward_taps(first, s.kw, s.stride_w, s.pad_w, s.dilation_w), 1,
                                 divide_up(s.w - first, s.stride_w), window);
      }
    }
  });
}

/// Calls body.operator()<channels of a group, whether there is a vector of channels>().
template <class Body>
void dispatch(const NarrowConvShape& s, const Body& body) {
  const auto with_width = [&]<bool whole>() {
    if constexpr (vec_floats > 8) {
      if (s.width == 8) return body.template operator()<8, whole>();
    }
    if constexpr (vec_floats > 4) {
      if (s.width == 4) return body.template operator()<4, whole>();
    }
    return s.width == 2 ? body.template operator()<2, whole>() : body.template operator()<1, whole>();
  };
  s.c >= vec_floats ? with_width.template operator()<true>() : with_width.template operator()<false>();
}

void forward(const NarrowConvShape& s, const float* x, const float* weight, const float* bias, float* y,
             int64_t begin, int64_t end) {
  dispatch(s, [&]<int G, bool whole>() { forward_rows<G, whole>(s, x, weight, bias, y, begin, end); });
}

void backward_data(const NarrowConvShape& s, const float* dy, const float* weight, float* dx, int64_t begin,
                   int64_t end) {
  dispatch(s, [&]<int G, bool whole>() { backward_data_rows<G, whole>(s, dy, weight, dx, begin, end); });
}

void backward_weight(const NarrowConvShape& s, const float* dy, const float* x, float* dweight, int64_t begin,
                     int64_t end) {
  dispatch(s, [&]<int G, bool whole>() { add_rows<G, whole>(s, dy, x, dweight, begin, end); });
}

}  // namespace

extern const NarrowConvKernels narrow_conv_table;
const NarrowConvKernels narrow_conv_table{vec_floats / 2, forward, backward_data, backward_weight};

}  // namespace tern::simd::TERN_ISA
