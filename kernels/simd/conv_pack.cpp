#include <tern/kernels/simd/conv_pack.h>

namespace tern::simd::TERN_ISA {
namespace {

float* pack_lanes(const float* w, int64_t stride, int64_t valid, int64_t width, float* packed) {
  for (int64_t lane = 0; lane < width; ++lane) *packed++ = lane < valid ? w[lane * stride] : 0.0f;
  return packed;
}

void pack_block(const WeightView& w, int64_t channel, int64_t width, float* packed) {
  const int64_t valid = w.out - channel < width ? w.out - channel : width;
  const float* base = w.data + channel * w.out_stride;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t c = 0; c < w.cols; ++c) {
      const float* tap = base + r * w.row_stride + c * w.col_stride;
      for (int64_t i = 0; i < w.in; ++i) {
        packed = pack_lanes(tap + i * w.in_stride, w.out_stride, valid, width, packed);
      }
    }
  }
}

}  // namespace

void pack_group(const WeightView& w, int64_t group, float* packed) {
  constexpr int64_t group_width = max_vectors * vec_floats;
  int64_t channel = group * group_width;
  const int64_t end = channel + group_width < w.out ? channel + group_width : w.out;
  while (channel < end) {
    const int64_t width = block_vectors(w.out - channel) * vec_floats;
    pack_block(w, channel, width, packed + channel * w.rows * w.cols * w.in);
    channel += width;
  }
}

}  // namespace tern::simd::TERN_ISA
