#include <tern/kernels/simd/conv_functions.h>
#include <tern/kernels/simd/conv_strip.h>
#include <tern/kernels/simd/conv_weight_plan.h>

namespace tern::simd::TERN_ISA {
namespace {

/// The strips of x that a unit reads.
void load_x(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
            const WeightUnit& unit, float* strips) {
  const ConvShape& s = args.shape;
  const ConvWindow window = {unit.row * s.stride_h - s.pad_h,
                             (unit.rows - 1) * s.stride_h + span_of(s.kh, s.dilation_h), -s.pad_w,
                             p.strip_cols};
  for (int64_t g = 0; g < unit.images; ++g) {
    const ConvImage x = {
        args.x + (unit.image + g) * s.h * s.w * x_pixel(s), nullptr, nullptr, s.h, s.w, x_pixel(s), false};
    gather(x, window, slice.i, slice.ic, p.pitch, strips + g * p.strip_floats);
  }
}

void zero(float* sums, int64_t count) {
  __builtin_memset(sums, 0, static_cast<size_t>(count) * sizeof(float));
}

void backward_weight_item(const ConvBackwardWeight& args, const WeightPlan& p, int64_t item, float* scratch) {
  const ConvShape& s = args.shape;
  const int64_t slices = p.ic_slices * p.oc_slices;
  const int64_t partial = item / slices, oc_slice = item % slices / p.ic_slices,
                ic_slice = item % p.ic_slices;
  const WeightSlice slice = weight_slice(s, p, oc_slice, ic_slice);
  float* const sums = args.partials + partial * p.partial_floats;
  float* const dw = sums + slice.at;
  float* const db = ic_slice == 0 ? sums + p.weight_floats + slice.o : nullptr;
  zero(dw, slice.floats);
  if (db) zero(db, round_up(slice.oc, vec_floats));
  const int64_t first = partial * p.partial_units;
  const int64_t last = first + p.partial_units < p.units ? first + p.partial_units : p.units;
  float* const after_x = scratch + p.images * p.strip_floats;
  for (int64_t number = first; number < last; ++number) {
    const WeightUnit unit = weight_unit(s, p, number);
    load_x(args, p, slice, unit, scratch);
    (p.sparse ? add_sparse_unit : add_dense_unit)(args, p, slice, unit, scratch, after_x, dw, db);
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
  return p.images * p.strip_floats + (p.sparse ? sparse_unit_scratch(s, p) : dense_unit_scratch(s, p));
}

void backward_weight(const ConvBackwardWeight& args, int64_t begin, int64_t end, float* scratch) {
  const WeightPlan p = weight_plan(args.shape);
  for (int64_t item = begin; item < end; ++item) backward_weight_item(args, p, item, scratch);
}

}  // namespace tern::simd::TERN_ISA
