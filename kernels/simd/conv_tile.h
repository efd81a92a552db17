// The inner kernel of forward and data gradient: a few pixels times one to four vectors of output channels.
#pragma once

#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

/// Output channels are cut into blocks of max_vectors vectors, with narrower blocks for the rest.
constexpr int max_vectors = max_accumulators == 24 ? 4 : 2;

/// The most pixels of a tile that is `vectors` wide.
constexpr int max_pixels(int vectors) {
  return max_accumulators / vectors < 10 ? max_accumulators / vectors : 10;
}

/// The size of the next tile when `left` pixels are left. A small last tile would wait for its own sums, so
/// that the last two share evenly.
constexpr int64_t tile_size(int64_t left, int64_t most) {
  if (left <= most) return left;
  return left - most >= most / 2 + 1 ? most : (left + 1) / 2;
}

/// The width in vectors of the block that starts `left` channels before the end.
constexpr int block_vectors(int64_t left) {
  const int64_t vectors = (left + vec_floats - 1) / vec_floats;
  return vectors >= max_vectors ? max_vectors : vectors >= 2 ? 2 : 1;
}

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// y[p][o] = bias[o] + sum over r < rows, c < cols, k < run of
///     x[x_offset[p] + r * x_row + c * x_col + k] * weight[r][c][k][o].
struct ConvTile {
  const float* x;
  const int32_t* x_offset;
  int64_t x_row, x_col;
  int64_t rows, cols, run;
  const float* weight;
  const float* bias;  // a full block
  float* y;
  const int32_t* y_offset;
  int64_t channels;   // valid ones in the block
  const float* mask;  // null, or shaped as y: results are zero where it is 0 or less
  bool relu;
};

using ConvTileFunction = void (*)(const ConvTile&);

/// The kernel for 1 <= pixels <= max_pixels(vectors).
ConvTileFunction conv_tile(int pixels, int vectors);

}  // namespace tern::simd::TERN_ISA
