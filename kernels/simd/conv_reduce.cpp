#include <tern/kernels/simd/conv_functions.h>
#include <tern/kernels/simd/conv_pack.h>
#include <tern/kernels/simd/conv_weight_plan.h>

namespace tern::simd::TERN_ISA {
namespace {

/// sums[0..count) = the sum of the partial sums that lie `pitch` apart; whole vectors are read and written.
void add_partials(const float* partials, int64_t number, int64_t pitch, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; i += vec_floats) store(sums + i, load(partials + i));
  for (int64_t p = 1; p < number; ++p) {
    const float* partial = partials + p * pitch;
    for (int64_t i = 0; i < count; i += vec_floats) store(sums + i, load(sums + i) + load(partial + i));
  }
}

/// One tap of one block of output channels: [ic][width] to the strides of dw.
void reduce_tap(const WeightPlan& p, const float* partials, int64_t ic, int64_t width, int64_t valid,
                const WeightStrides& strides, float* dw) {
  alignas(64) float sums[512];
  const int64_t most = 512 / width;
  for (int64_t i = 0; i < ic; i += most) {
    const int64_t count = ic - i < most ? ic - i : most;
    add_partials(partials + i * width, p.partials, p.partial_floats, count * width, sums);
    for (int64_t o = 0; o < valid; ++o) {
      for (int64_t c = 0; c < count; ++c) dw[o * strides.oc + (i + c) * strides.ic] = sums[c * width + o];
    }
  }
}

/// One tap of one output channel of a sparse gradient: [ic].
void reduce_run(const WeightPlan& p, const float* partials, int64_t ic, const WeightStrides& strides,
                float* dw) {
  alignas(64) float sums[512];
  for (int64_t i = 0; i < ic; i += 512) {
    const int64_t count = ic - i < 512 ? ic - i : 512;
    add_partials(partials + i, p.partials, p.partial_floats, count, sums);
    for (int64_t c = 0; c < count; ++c) dw[(i + c) * strides.ic] = sums[c];
  }
}

/// One tap of the slice's output channels [begin, end), counted from the first of all.
void reduce_channels(const ConvShape& s, const WeightPlan& p, const WeightSlice& slice, const float* partials,
                     int64_t tap, int64_t begin, int64_t end, const WeightStrides& strides, float* dw) {
  for (int64_t o = begin; o < end;) {
    const int64_t in_slice = o - slice.o;
    if (p.sparse) {
      const float* at = partials + (in_slice * s.kh + tap / s.kw) * p.run + tap % s.kw * p.pitch;
      reduce_run(p, at, slice.ic, strides, dw + o * strides.oc);
      ++o;
      continue;
    }
    const int64_t width = block_vectors(s.oc - o) * vec_floats;
    const int64_t valid = s.oc - o < width ? s.oc - o : width;
    const float* at = partials + in_slice * s.kh * s.kw * slice.ic + tap * slice.ic * width;
    reduce_tap(p, at, slice.ic, width, valid, strides, dw + o * strides.oc);
    o += width;
  }
}

void reduce_bias(const ConvShape& s, const WeightPlan& p, const float* partials, float* db) {
  for (int64_t o = 0; o < s.oc; o += vec_floats) {
    alignas(64) float sums[vec_floats];
    add_partials(partials + p.weight_floats + o, p.partials, p.partial_floats, vec_floats, sums);
    for (int64_t lane = 0; lane < vec_floats && o + lane < s.oc; ++lane) db[o + lane] = sums[lane];
  }
}

}  // namespace

int64_t reduce_weight_items(const ConvShape& s) {
  return groups_of(s.oc) * s.kh * s.kw * weight_plan(s).ic_slices;
}

void reduce_weight(const ConvShape& s, const float* partials, float* dw, const WeightStrides& strides,
                   float* db, int64_t begin, int64_t end) {
  constexpr int64_t group_width = max_vectors * vec_floats;
  const WeightPlan p = weight_plan(s);
  if (db && begin == 0) reduce_bias(s, p, partials, db);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t ic_slice = item % p.ic_slices, tap = item / p.ic_slices % (s.kh * s.kw);
    const int64_t group_begin = item / p.ic_slices / (s.kh * s.kw) * group_width;
    const int64_t group_end = group_begin + group_width < s.oc ? group_begin + group_width : s.oc;
    const WeightSlice slice = weight_slice(s, p, group_begin / p.oc_slice, ic_slice);
    float* const dw_at = dw + slice.i * strides.ic + tap / s.kw * strides.kh + tap % s.kw * strides.kw;
    reduce_channels(s, p, slice, partials + slice.at, tap, group_begin, group_end, strides, dw_at);
  }
}

}  // namespace tern::simd::TERN_ISA
