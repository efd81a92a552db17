#include <tern/kernels/simd/conv_weight_plan.h>

#include <tern/kernels/simd/conv_sparse.h>
#include <tern/kernels/simd/conv_strip.h>

namespace tern::simd::TERN_ISA {
namespace {

constexpr int64_t group = max_vectors * vec_floats;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

void cut_channels(const ConvShape& s, WeightPlan& p) {
  constexpr int64_t slice_floats = 48 * 1024;
  p.ic_slice = s.ic;
  p.oc_slice = round_up(s.oc, group);
  while (p.ic_slice * p.oc_slice * s.kh * s.kw > slice_floats) {
    if (p.oc_slice > group && (p.oc_slice >= p.ic_slice || p.ic_slice <= 16)) {
      p.oc_slice = round_up(p.oc_slice / 2, group);
    } else if (p.ic_slice > 16) {
      p.ic_slice = round_up(p.ic_slice / 2, 8);
    } else {
      break;
    }
  }
  p.ic_slices = (s.ic + p.ic_slice - 1) / p.ic_slice;
  p.oc_slices = (s.oc + p.oc_slice - 1) / p.oc_slice;
  p.run = round_up(s.kw * p.ic_slice, vec_floats);
  // Pixels at a multiple of 256 bytes would share a few sets of the first-level cache.
  p.pitch = p.ic_slice >= 64 && !p.sparse ? round_up(p.ic_slice, 16) | 16 : p.ic_slice;
}

void cut_pixels(const ConvShape& s, WeightPlan& p) {
  constexpr int64_t unit_pixels = 128, strip_floats = 48 * 1024;
  p.strip_cols = (s.ow - 1) * s.stride_w + span_of(s.kw, s.dilation_w);
  const int64_t span = span_of(s.kh, s.dilation_h);
  const int64_t fitting = (strip_floats / (p.strip_cols * p.pitch) - span) / s.stride_h + 1;
  p.rows = even_part(p.out_rows, larger(1, smaller(fitting, unit_pixels / s.ow)));
  if (s.pool) p.rows = round_up(p.rows, 2);
  p.blocks = (p.out_rows + p.rows - 1) / p.rows;
  p.strip_rows = (p.rows - 1) * s.stride_h + span;
  // What lies behind the last run is read, and thrown away, up to a whole vector.
  p.strip_floats = round_up(p.strip_rows * p.strip_cols * p.pitch + vec_floats, 16);
  const int64_t room = smaller(unit_pixels / (p.out_rows * s.ow), strip_floats / p.strip_floats);
  p.images = p.blocks == 1 ? even_part(s.n, larger(1, room)) : 1;
  p.units = (s.n + p.images - 1) / p.images * p.blocks;
}

}  // namespace

WeightPlan weight_plan(const ConvShape& s) {
  constexpr int64_t wanted_items = 64, most_floats = 1 << 20;
  WeightPlan p = {};
  p.sparse = sparse_gradient(s);
  p.out_rows = s.pool ? s.oh / 2 * 2 : s.oh;
  cut_channels(s, p);
  if (p.out_rows > 0 && s.ow > 0) cut_pixels(s, p);
  p.weight_floats =
      p.sparse ? s.oc * s.kh * p.ic_slices * p.run : round_up(s.oc, vec_floats) * s.kh * s.kw * s.ic;
  p.partial_floats = round_up(p.weight_floats + round_up(s.oc, vec_floats), 16);
  const int64_t wanted = wanted_items / (p.ic_slices * p.oc_slices * s.groups);
  const int64_t most = larger(1, smaller(wanted, most_floats / (p.partial_floats * s.groups)));
  p.partial_units = larger(1, (p.units + most - 1) / most);
  p.partials = larger(1, (p.units + p.partial_units - 1) / p.partial_units);
  return p;
}

WeightSlice weight_slice(const ConvShape& s, const WeightPlan& p, int64_t oc_slice, int64_t ic_slice) {
  WeightSlice slice = {};
  slice.o = oc_slice * p.oc_slice;
  slice.i = ic_slice * p.ic_slice;
  slice.oc = smaller(p.oc_slice, s.oc - slice.o);
  slice.ic = smaller(p.ic_slice, s.ic - slice.i);
  if (p.sparse) {
    slice.floats = slice.oc * s.kh * p.run;
    slice.at = (slice.o * p.ic_slices + slice.oc * ic_slice) * s.kh * p.run;
  } else {
    const int64_t oc_padded = round_up(slice.oc, vec_floats);
    slice.floats = oc_padded * s.kh * s.kw * slice.ic;
    slice.at = s.kh * s.kw * (slice.o * s.ic + oc_padded * slice.i);
  }
  return slice;
}

WeightUnit weight_unit(const ConvShape& s, const WeightPlan& p, int64_t number) {
  WeightUnit unit;
  unit.row = number % p.blocks * p.rows;
  unit.rows = smaller(p.rows, p.out_rows - unit.row);
  unit.image = number / p.blocks * p.images;
  unit.images = smaller(p.images, s.n - unit.image);
  return unit;
}

}  // namespace tern::simd::TERN_ISA
