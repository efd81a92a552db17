// How the weight gradient is cut: by channels into slices that stay in the second-level cache, by pixels into
// units, and by runs of units into partial sums. All of it depends on the shape alone.
#pragma once

#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

struct WeightPlan {
  bool sparse;                   // sums of runs behind a pool, see conv_sparse.h
  int64_t ic_slice, oc_slice;    // channels of a slice; oc_slice is a whole number of groups of blocks
  int64_t ic_slices, oc_slices;  // their numbers
  int64_t pitch;                 // floats from pixel to pixel in a strip of x
  int64_t run;                   // sparse: floats of a run of kw * ic_slice in a partial sum, whole vectors
  int64_t out_rows;              // output rows of an image that count
  int64_t rows, blocks;          // output rows of a unit, units of an image
  int64_t images;                // images of a unit
  int64_t strip_rows, strip_cols, strip_floats;
  int64_t units, partial_units, partials;
  int64_t weight_floats, partial_floats;  // of one partial sum: the weight's part, and all with the bias
};

WeightPlan weight_plan(const ConvShape& s);

/// A slice of one partial sum, for the channels from `o` and `i` on: [blocks of oc][kh][kw][ic][block width],
/// or when sparse [oc][kh][run].
struct WeightSlice {
  int64_t o, i, oc, ic;
  int64_t at, floats;  // where it lies in the partial sum
};

WeightSlice weight_slice(const ConvShape& s, const WeightPlan& p, int64_t oc_slice, int64_t ic_slice);

/// Output rows [row, row + rows) of `images` images.
struct WeightUnit {
  int64_t image, images, row, rows;
};

WeightUnit weight_unit(const ConvShape& s, const WeightPlan& p, int64_t number);

/// The two ways to add a unit to a slice dw and, unless null, to its db. `x` holds strips of x, one for each
/// image. The first expands the pool's gradient if there is one.
int64_t dense_unit_scratch(const ConvShape& s, const WeightPlan& p);
void add_dense_unit(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
                    const WeightUnit& unit, const float* x, float* scratch, float* dw, float* db);
int64_t sparse_unit_scratch(const ConvShape& s, const WeightPlan& p);
void add_sparse_unit(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
                     const WeightUnit& unit, const float* x, float* scratch, float* dw, float* db);

/// Splits `total` evenly into parts of at most `most`, and returns the size of the larger parts.
constexpr int64_t even_part(int64_t total, int64_t most) {
  const int64_t parts = (total + most - 1) / most;
  return parts > 0 ? (total + parts - 1) / parts : 1;
}

}  // namespace tern::simd::TERN_ISA
