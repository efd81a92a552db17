// One correlation of a weight with a strip of an image: forward is one, a data gradient one per phase of the
// stride.
#pragma once

#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

/// The kernel's rows and run, x, y, mask and relu stand in `tile`; output pixel (r, c) reads x from
/// r * x_step_row + c * x_step_col on and lies at y + r * y_row + c * y_col.
struct ConvPass {
  ConvTile tile;
  const float* packed;
  const float* bias;  // null, or one for each channel
  int64_t x_step_row, x_step_col;
  int64_t y_row, y_col;
  int64_t rows, cols, channels;
};

/// How a window reads x: taps [rows][cols] of `channels` each, those of neighbouring rows and columns so many
/// floats apart.
struct ConvTaps {
  int64_t rows, cols, row_step, col_step, channels;
};

/// Makes it the tile's; columns that follow each other become one run.
void set_taps(ConvTile& tile, const ConvTaps& taps);

/// Computes one block of output channels from `channel` on. `offsets` is what fill_offsets made.
void run_block(const ConvPass& pass, int64_t channel, int vectors, const int32_t* offsets);

/// Writes 2 * rows * cols numbers.
void fill_offsets(const ConvPass& pass, int32_t* offsets);

/// All blocks. `offsets` is scratch for 2 * rows * cols numbers.
void run_pass(const ConvPass& pass, int32_t* offsets);

/// How many output rows an item takes: enough for long tiles, few enough that the strip stays in the
/// second-level cache and that there are items for many threads. A row of the strip holds `row_floats`;
/// `rows` output rows need (rows - 1) * step + taps of them.
int64_t rows_per_item(int64_t images, int64_t rows, int64_t cols, int64_t step, int64_t taps,
                      int64_t row_floats);

}  // namespace tern::simd::TERN_ISA
