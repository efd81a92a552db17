#include <tern/kernels/simd/conv_functions.h>
#include <tern/kernels/simd/conv_outer.h>
#include <tern/kernels/simd/conv_strip.h>
#include <tern/kernels/simd/conv_weight_plan.h>

namespace tern::simd::TERN_ISA {
namespace {

/// A thread's scratch.
struct Scratch {
  float* x;   // [images][strip_rows][strip_cols][pitch]
  float* dy;  // [blocks of oc][pixels][block width]
  int32_t* row_offset;
  int32_t* k_offset;
};

int64_t strip_floats(const WeightPlan& p) { return round_up(p.strip_rows * p.strip_cols * p.pitch, 16); }

int64_t dy_floats(const ConvShape& s, const WeightPlan& p) {
  return round_up(p.images * p.rows * s.ow * round_up(p.oc_slice, vec_floats), 16);
}

Scratch cut(const ConvShape& s, const WeightPlan& p, float* scratch) {
  Scratch parts;
  parts.x = scratch;
  parts.dy = parts.x + p.images * strip_floats(p);
  parts.row_offset = reinterpret_cast<int32_t*>(parts.dy + dy_floats(s, p));
  parts.k_offset = parts.row_offset + round_up(p.images * p.rows, 16);
  return parts;
}

void fill_k_offsets(const ConvShape& s, const WeightPlan& p, int64_t channels, int32_t* offset) {
  for (int64_t r = 0; r < s.kh; ++r) {
    for (int64_t c = 0; c < s.kw; ++c) {
      for (int64_t i = 0; i < channels; ++i)
        *offset++ = static_cast<int32_t>((r * p.strip_cols + c) * p.pitch + i);
    }
  }
}

/// One image's part of a unit.
struct Part {
  int64_t image, row, rows;
  int64_t first_row;  // its first one in the unit
  float* x;
};

void load_part(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
               const Part& part, int64_t unit_rows, const Scratch& scratch) {
  const ConvShape& s = args.shape;
  const ConvImage x = {args.x + part.image * s.h * s.w * s.ic, nullptr, nullptr, s.h, s.w, s.ic, false};
  const ConvWindow window = {part.row * s.stride_h - s.pad_h, (part.rows - 1) * s.stride_h + s.kh, -s.pad_w,
                             p.strip_cols};
  gather(x, window, slice.i, slice.ic, p.pitch, part.x);
  const ConvImage dy = output_gradient(s, args.gradient, part.image);
  gather_blocks(dy, part.row, part.rows, slice.o, slice.oc, part.first_row * s.ow, unit_rows * s.ow,
                scratch.dy);
  for (int64_t r = 0; r < part.rows; ++r) {
    const int64_t at = part.x - scratch.x + r * s.stride_h * p.strip_cols * p.pitch;
    scratch.row_offset[part.first_row + r] = static_cast<int32_t>(at);
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

void add_unit(const ConvShape& s, const WeightPlan& p, const WeightSlice& slice, int64_t rows,
              const Scratch& scratch, float* dw, float* db) {
  const int64_t k_count = s.kh * s.kw * slice.ic, pixels = rows * s.ow;
  for (int64_t o = 0; o < slice.oc;) {
    const int vectors = block_vectors(slice.oc - o);
    const int64_t width = vectors * vec_floats;
    const float* dy = scratch.dy + o * pixels;
    for (int v = 0; db && v < vectors; ++v)
      add_pixels(dy + v * vec_floats, pixels, width, db + o + v * vec_floats);
    const ConvOuter outer = {
        scratch.x, scratch.row_offset, scratch.k_offset, rows, s.ow, s.stride_w * p.pitch,
        dy,        dw + o * k_count};
    add_block(outer, k_count, vectors);
    o += width;
  }
}

void backward_weight_item(const ConvBackwardWeight& args, const WeightPlan& p, int64_t item,
                          const Scratch& scratch) {
  const ConvShape& s = args.shape;
  const int64_t slices = p.ic_slices * p.oc_slices;
  const int64_t partial = item / slices, oc_slice = item % slices / p.ic_slices,
                ic_slice = item % p.ic_slices;
  const WeightSlice slice = weight_slice(s, p, oc_slice, ic_slice);
  const int64_t oc_padded = round_up(slice.oc, vec_floats);
  float* const sums = args.partials + partial * p.partial_floats;
  float* const dw = sums + slice.at;
  float* const db = ic_slice == 0 ? sums + p.weight_floats + slice.o : nullptr;
  __builtin_memset(dw, 0, static_cast<size_t>(oc_padded * s.kh * s.kw * slice.ic) * sizeof(float));
  if (db) __builtin_memset(db, 0, static_cast<size_t>(oc_padded) * sizeof(float));
  fill_k_offsets(s, p, slice.ic, scratch.k_offset);
  const int64_t first = partial * p.partial_units;
  const int64_t last = first + p.partial_units < p.units ? first + p.partial_units : p.units;
  for (int64_t unit = first; unit < last; ++unit) {
    const int64_t row = unit % p.blocks * p.rows, image = unit / p.blocks * p.images;
    const int64_t rows = s.oh - row < p.rows ? s.oh - row : p.rows;
    const int64_t images = s.n - image < p.images ? s.n - image : p.images;
    const int64_t unit_rows = images * rows;
    for (int64_t g = 0; g < images; ++g) {
      const Part part = {image + g, row, rows, g * rows, scratch.x + g * strip_floats(p)};
      load_part(args, p, slice, part, unit_rows, scratch);
    }
    add_unit(s, p, slice, unit_rows, scratch, dw, db);
  }
}

}  // namespace

int64_t backward_weight_partials(const ConvShape& s) {
  const WeightPlan p = weight_plan(s);
  return p.partials * p.partial_floats;
}

int64_t backward_weight_items(const ConvShape& s) {
  const WeightPlan p = weight_plan(s);
  return p.partials * p.ic_slices * p.oc_slices;
}

int64_t backward_weight_scratch(const ConvShape& s) {
  const WeightPlan p = weight_plan(s);
  return p.images * strip_floats(p) + dy_floats(s, p) + round_up(p.images * p.rows, 16) +
         round_up(s.kh * s.kw * p.ic_slice, 16);
}

void backward_weight(const ConvBackwardWeight& args, int64_t begin, int64_t end, float* scratch) {
  const WeightPlan p = weight_plan(args.shape);
  const Scratch parts = cut(args.shape, p, scratch);
  for (int64_t item = begin; item < end; ++item) backward_weight_item(args, p, item, parts);
}

}  // namespace tern::simd::TERN_ISA
