// Gradients behind a 2x2 max pool, of which three in four are zero: instead of expanding them, sum the runs
// of weights (for dx) or of inputs (for dw) that the others select.
#pragma once

#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

struct SparseEntry {
  float value;
  int32_t offset;
};

/// sums[k] += sum over entries e of e.value * base[e.offset + k], for k < floats. Base is read, but sums is
/// not written, up to the next whole vector.
struct SparseSum {
  const SparseEntry* entries;
  int64_t count;
  const float* base;
  float* sums;
  int64_t floats;
};

constexpr int max_sparse_vectors = 12;

using SparseFunction = void (*)(const SparseSum&);

/// The kernel for floats in (vectors - 1, vectors] * vec_floats, 1 <= vectors <= max_sparse_vectors.
SparseFunction sparse_sum(int64_t vectors);

/// values = dy but 0 where y (unless null) is 0 or less; also added to `sums` unless that is null.
void live_values(const float* dy, const float* y, int64_t count, float* values, float* sums);

/// A run of kw * ic floats is cut into tiles of this many vectors, the last one maybe smaller.
constexpr int64_t sparse_tile_vectors(int64_t run) {
  const int64_t vectors = (run + vec_floats - 1) / vec_floats;
  const int64_t tiles = (vectors + max_sparse_vectors - 1) / max_sparse_vectors;
  return (vectors + tiles - 1) / tiles;
}

/// Whether sums of runs are worth it: short ones waste lanes, and expanding is faster. Output channels are
/// counted in 16 bits.
constexpr bool sparse_gradient(const ConvShape& s) {
  return s.pool && s.kw * s.ic >= 4 * vec_floats && s.oc < 65536;
}

/// The sparse versions of the functions of the same names without `sparse_`.
int64_t sparse_backward_data_packed(const ConvShape& s);
int64_t sparse_pack_backward_data_items(const ConvShape& s);
void sparse_pack_backward_data(const ConvShape& s, const float* w, const WeightStrides& strides,
                               float* packed, int64_t begin, int64_t end);
int64_t sparse_backward_data_items(const ConvShape& s);
int64_t sparse_backward_data_scratch(const ConvShape& s);
void sparse_backward_data(const ConvBackwardData& args, int64_t begin, int64_t end, float* scratch);

}  // namespace tern::simd::TERN_ISA
