#include <tern/kernels/simd/conv_outer.h>
#include <tern/kernels/simd/conv_strip.h>
#include <tern/kernels/simd/conv_weight_plan.h>

namespace tern::simd::TERN_ISA {
namespace {

struct Scratch {
  float* dy;  // [blocks of oc][pixels][block width]
  int32_t* row_offset;
  int32_t* k_offset;
};

int64_t dy_floats(const ConvShape& s, const WeightPlan& p) {
  return round_up(p.images * p.rows * s.ow * round_up(p.oc_slice, vec_floats), 16);
}

void fill_offsets(const ConvShape& s, const WeightPlan& p, int64_t channels, const WeightUnit& unit,
                  const Scratch& scratch) {
  int32_t* row = scratch.row_offset;
  for (int64_t g = 0; g < unit.images; ++g) {
    for (int64_t r = 0; r < unit.rows; ++r) {
      *row++ = static_cast<int32_t>(g * p.strip_floats + r * s.stride_h * p.strip_cols * p.pitch);
    }
  }
  int32_t* k = scratch.k_offset;
  for (int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
    const int64_t at = (tap / s.kw * s.dilation_h * p.strip_cols + tap % s.kw * s.dilation_w) * p.pitch;
    for (int64_t i = 0; i < channels; ++i) *k++ = static_cast<int32_t>(at + i);
  }
}

/// dw [k_count][width] of one block.
void add_block(ConvOuter outer, int64_t k_count, int vectors) {
  for (int64_t k = 0; k < k_count;) {
    const int64_t step = tile_size(k_count - k, max_pixels(vectors));
    conv_outer(static_cast<int>(step), vectors)(outer);
    outer.k_offset += step;
    outer.dw += step * vectors * vec_floats;
    k += step;
  }
}

}  // namespace

int64_t dense_unit_scratch(const ConvShape& s, const WeightPlan& p) {
  return dy_floats(s, p) + round_up(p.images * p.rows, 16) + round_up(s.kh * s.kw * p.ic_slice, 16);
}

void add_dense_unit(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
                    const WeightUnit& unit, const float* x, float* scratch, float* dw, float* db) {
  const ConvShape& s = args.shape;
  int32_t* const offsets = reinterpret_cast<int32_t*>(scratch + dy_floats(s, p));
  const Scratch parts = {scratch, offsets, offsets + round_up(p.images * p.rows, 16)};
  const int64_t rows = unit.images * unit.rows, pixels = rows * s.ow, k_count = s.kh * s.kw * slice.ic;
  for (int64_t g = 0; g < unit.images; ++g) {
    const ConvImage dy = output_gradient(s, args.gradient, unit.image + g);
    gather_blocks(dy, unit.row, unit.rows, slice.o, slice.oc, g * unit.rows * s.ow, pixels, parts.dy);
  }
  fill_offsets(s, p, slice.ic, unit, parts);
  for (int64_t o = 0; o < slice.oc;) {
    const int vectors = block_vectors(slice.oc - o);
    const int64_t width = vectors * vec_floats;
    const float* dy = parts.dy + o * pixels;
    for (int64_t v = 0; db && v < width; v += vec_floats) add_pixels(dy + v, pixels, width, db + o + v);
    ConvOuter outer = {x, parts.row_offset, parts.k_offset, rows, s.ow, s.stride_w * p.pitch, dy, nullptr};
    outer.dw = dw + o * k_count;
    add_block(outer, k_count, vectors);
    o += width;
  }
}

}  // namespace tern::simd::TERN_ISA
