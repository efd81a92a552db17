#include <tern/kernels/simd/conv_pass.h>

namespace tern::simd::TERN_ISA {
namespace {

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void set_taps(ConvTile& tile, const ConvTaps& taps) {
  const bool one_run = taps.col_step == taps.channels;
  tile.rows = taps.rows;
  tile.cols = one_run ? 1 : taps.cols;
  tile.run = one_run ? taps.cols * taps.channels : taps.channels;
  tile.x_row = taps.row_step;
  tile.x_col = taps.col_step;
}

void run_block(const ConvPass& pass, int64_t channel, int vectors, const int32_t* offsets) {
  const int64_t pixels = pass.rows * pass.cols;
  const int64_t width = vectors * vec_floats;
  alignas(64) float bias[max_vectors * vec_floats] = {};
  ConvTile tile = pass.tile;
  tile.channels = smaller(width, pass.channels - channel);
  for (int64_t o = 0; pass.bias && o < tile.channels; ++o) bias[o] = pass.bias[channel + o];
  tile.bias = bias;
  tile.weight = pass.packed + channel * tile.rows * tile.cols * tile.run;
  tile.y += channel;
  if (tile.mask) tile.mask += channel;
  tile.x_offset = offsets;
  tile.y_offset = offsets + pixels;
  for (int64_t p = 0; p < pixels;) {
    const int64_t step = tile_size(pixels - p, max_pixels(vectors));
    conv_tile(static_cast<int>(step), vectors)(tile);
    tile.x_offset += step;
    tile.y_offset += step;
    p += step;
  }
}

void fill_offsets(const ConvPass& pass, int32_t* offsets) {
  int32_t* x = offsets;
  int32_t* y = offsets + pass.rows * pass.cols;
  for (int64_t r = 0; r < pass.rows; ++r) {
    for (int64_t c = 0; c < pass.cols; ++c) {
      *x++ = static_cast<int32_t>(r * pass.x_step_row + c * pass.x_step_col);
      *y++ = static_cast<int32_t>(r * pass.y_row + c * pass.y_col);
    }
  }
}

void run_pass(const ConvPass& pass, int32_t* offsets) {
  if (pass.rows <= 0 || pass.cols <= 0) return;
  fill_offsets(pass, offsets);
  for (int64_t channel = 0; channel < pass.channels;) {
    const int vectors = block_vectors(pass.channels - channel);
    run_block(pass, channel, vectors, offsets);
    channel += vectors * vec_floats;
  }
}

int64_t rows_per_item(int64_t images, int64_t rows, int64_t cols, int64_t step, int64_t taps,
                      int64_t row_floats) {
  constexpr int64_t strip_floats = 48 * 1024, most_pixels = 512, fewest_pixels = 32, wanted_items = 64;
  if (rows <= 0 || cols <= 0) return 1;
  const int64_t fitting = (strip_floats / larger(row_floats, 1) - taps) / step + 1;
  const int64_t shared = larger(divide_up(rows * images, wanted_items), divide_up(fewest_pixels, cols));
  const int64_t most = larger(1, smaller(smaller(fitting, most_pixels / cols), shared));
  return divide_up(rows, divide_up(rows, most));
}

}  // namespace tern::simd::TERN_ISA
