// Weights in the order in which the inner kernel reads them.
#pragma once

#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

/// A weight seen as [out][rows][cols][in] through strides, which may be negative.
struct WeightView {
  const float* data;
  int64_t out, rows, cols, in;
  int64_t out_stride, row_stride, col_stride, in_stride;
};

/// Packs the `group`th max_vectors vectors of output channels: blocks of [rows][cols][in][block width], zeros
/// behind the last channel; the block of channel o starts at o * rows * cols * in.
void pack_group(const WeightView& w, int64_t group, float* packed);

constexpr int64_t groups_of(int64_t channels) {
  return (channels + max_vectors * vec_floats - 1) / (max_vectors * vec_floats);
}

constexpr int64_t packed_floats(int64_t out, int64_t taps, int64_t in) {
  return round_up(out, vec_floats) * taps * in;
}

}  // namespace tern::simd::TERN_ISA
