#include <tern/kernels/simd/conv_sparse.h>
#include <tern/kernels/simd/conv_weight_plan.h>

namespace tern::simd::TERN_ISA {
namespace {

// dw[o, r, :, :] sums, over the pooled pixels, the runs of kw * ic inputs that start where the window of
// channel o's maximum has its row r.

/// The gradients of each channel that are not zero, with the places of their windows in x.
struct Lists {
  SparseEntry* entries;  // [oc_slice][pooled pixels of a unit]
  int32_t* counts;       // [oc_slice]
  float* values;         // [oc_slice], scratch for one pixel
};

int64_t unit_pixels(const ConvShape& s, const WeightPlan& p) { return p.images * (p.rows / 2) * (s.ow / 2); }

int64_t entry_floats(const ConvShape& s, const WeightPlan& p) {
  return round_up(2 * p.oc_slice * unit_pixels(s, p), 16);
}

/// Appends pooled pixel `at` (of all), whose first window starts at `offset` in x.
void append_pixel(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice, int64_t at,
                  int64_t offset, const Lists& lists, float* db) {
  const ConvShape& s = args.shape;
  const int64_t right = s.stride_w * p.pitch, down = s.stride_h * p.strip_cols * p.pitch;
  const int64_t places[4] = {offset, offset + right, offset + down, offset + down + right};
  const int64_t room = unit_pixels(s, p), first = at * s.oc + slice.o;
  const float* const y = args.gradient.y ? args.gradient.y + first : nullptr;
  const uint8_t* const argmax = args.gradient.argmax + first;
  live_values(args.gradient.dy + first, y, slice.oc, lists.values, db);
  for (int64_t o = 0; o < slice.oc; ++o) {
    const float value = lists.values[o];
    const int32_t count = lists.counts[o];
    lists.entries[o * room + count] = {value, static_cast<int32_t>(places[argmax[o]])};
    lists.counts[o] = count + !(value == 0.0f);
  }
}

void fill_lists(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
                const WeightUnit& unit, const Lists& lists, float* db) {
  const ConvShape& s = args.shape;
  const int64_t pooled_w = s.ow / 2;
  for (int64_t o = 0; o < slice.oc; ++o) lists.counts[o] = 0;
  for (int64_t g = 0; g < unit.images; ++g) {
    for (int64_t r = 0; r < unit.rows / 2; ++r) {
      const int64_t at = ((unit.image + g) * (s.oh / 2) + unit.row / 2 + r) * pooled_w;
      const int64_t offset = g * p.strip_floats + 2 * r * s.stride_h * p.strip_cols * p.pitch;
      for (int64_t c = 0; c < pooled_w; ++c) {
        append_pixel(args, p, slice, at + c, offset + 2 * c * s.stride_w * p.pitch, lists, db);
      }
    }
  }
}

}  // namespace

int64_t sparse_unit_scratch(const ConvShape& s, const WeightPlan& p) {
  return entry_floats(s, p) + 2 * round_up(p.oc_slice, 16);
}

void add_sparse_unit(const ConvBackwardWeight& args, const WeightPlan& p, const WeightSlice& slice,
                     const WeightUnit& unit, const float* x, float* scratch, float* dw, float* db) {
  const ConvShape& s = args.shape;
  float* const counts = scratch + entry_floats(s, p);
  const Lists lists = {reinterpret_cast<SparseEntry*>(scratch), reinterpret_cast<int32_t*>(counts),
                       counts + round_up(p.oc_slice, 16)};
  fill_lists(args, p, slice, unit, lists, db);
  const int64_t room = unit_pixels(s, p);
  const int64_t tile = sparse_tile_vectors(p.run) * vec_floats;
  for (int64_t r = 0; r < s.kh; ++r) {
    for (int64_t k = 0; k < p.run; k += tile) {
      const int64_t floats = p.run - k < tile ? p.run - k : tile;
      const SparseFunction add = sparse_sum(floats / vec_floats);
      const float* const base = x + r * p.strip_cols * p.pitch + k;
      for (int64_t o = 0; o < slice.oc; ++o) {
        add({lists.entries + o * room, lists.counts[o], base, dw + (o * s.kh + r) * p.run + k, floats});
      }
    }
  }
}

}  // namespace tern::simd::TERN_ISA
