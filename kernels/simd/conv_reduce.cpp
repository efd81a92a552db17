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

/// One output channel of one slice of a sparse gradient: [kh][run] with runs of [kw][pitch].
void reduce_channel(const ConvShape& s, const WeightPlan& p, const float* partials, int64_t ic,
                    const WeightStrides& strides, float* dw) {
  alignas(64) float sums[1024];
  const int64_t total = s.kh * p.run;
  for (int64_t first = 0; first < total; first += 1024) {
    const int64_t count = total - first < 1024 ? total - first : 1024;
    add_partials(partials + first, p.partials, p.partial_floats, count, sums);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t r = (first + k) / p.run, in_run = (first + k) % p.run, c = in_run / p.pitch,
                    i = in_run % p.pitch;
      if (c < s.kw && i < ic) dw[r * strides.kh + c * strides.kw + i * strides.ic] = sums[k];
    }
  }
}

/// One tap of the slice's output channels [begin, end), counted from the first of all.
void reduce_channels(const ConvShape& s, const WeightPlan& p, const WeightSlice& slice, const float* partials,
                     int64_t tap, int64_t begin, int64_t end, const WeightStrides& strides, float* dw) {
  for (int64_t o = begin; o < end;) {
    const int64_t width = block_vectors(s.oc - o) * vec_floats;
    const int64_t valid = s.oc - o < width ? s.oc - o : width;
    const float* at = partials + (o - slice.o) * s.kh * s.kw * slice.ic + tap * slice.ic * width;
    reduce_tap(p, at, slice.ic, width, valid, strides, dw + o * strides.oc);
    o += width;
  }
}

void reduce_sparse(const ConvShape& s, const WeightPlan& p, const float* partials, float* dw,
                   const WeightStrides& strides, int64_t item) {
  const int64_t o = item / p.ic_slices;
  const WeightSlice slice = weight_slice(s, p, o / p.oc_slice, item % p.ic_slices);
  const float* const at = partials + slice.at + (o - slice.o) * s.kh * p.run;
  reduce_channel(s, p, at, slice.ic, strides, dw + o * strides.oc + slice.i * strides.ic);
}

void reduce_dense(const ConvShape& s, const WeightPlan& p, const float* partials, float* dw,
                  const WeightStrides& strides, int64_t item) {
  constexpr int64_t group = max_vectors * vec_floats;
  const int64_t ic_slice = item % p.ic_slices, tap = item / p.ic_slices % (s.kh * s.kw);
  const int64_t begin = item / p.ic_slices / (s.kh * s.kw) * group;
  const int64_t end = begin + group < s.oc ? begin + group : s.oc;
  const WeightSlice slice = weight_slice(s, p, begin / p.oc_slice, ic_slice);
  float* const at = dw + slice.i * strides.ic + tap / s.kw * strides.kh + tap % s.kw * strides.kw;
  reduce_channels(s, p, slice, partials + slice.at, tap, begin, end, strides, at);
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
  const WeightPlan p = weight_plan(s);
  return (p.sparse ? s.oc : groups_of(s.oc) * s.kh * s.kw) * p.ic_slices;
}

void reduce_weight(const ConvShape& s, const float* partials, float* dw, const WeightStrides& strides,
                   float* db, int64_t begin, int64_t end) {
  const WeightPlan p = weight_plan(s);
  if (db && begin == 0) reduce_bias(s, p, partials, db);
  for (int64_t item = begin; item < end; ++item) {
    (p.sparse ? reduce_sparse : reduce_dense)(s, p, partials, dw, strides, item);
  }
}

}  // namespace tern::simd::TERN_ISA
