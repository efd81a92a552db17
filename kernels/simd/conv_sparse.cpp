#include <tern/kernels/simd/conv_sparse.h>

namespace tern::simd::TERN_ISA {
namespace {

/// Interleaved sums that T vectors need for as many independent chains as the latency of FMA asks for.
constexpr int ways(int vectors) {
  const int room = max_accumulators / vectors;
  return room >= 4 ? 4 : room >= 2 ? 2 : 1;
}

template <int T>
[[gnu::always_inline]] inline void add_entry(const SparseEntry& entry, const float* base, Vec* acc) {
  const Vec value = broadcast(entry.value);
  const float* const run = base + entry.offset;
  TERN_UNROLL
  for (int t = 0; t < T; ++t) acc[t] += value * load(run + t * vec_floats);
}

template <int T>
void compute(const SparseSum& sum) {
  constexpr int chains = ways(T);
  Vec acc[chains][T] = {};
  const SparseEntry* entry = sum.entries;
  const SparseEntry* const end = entry + sum.count;
  for (; end - entry >= chains; entry += chains) {
    TERN_UNROLL
    for (int u = 0; u < chains; ++u) add_entry<T>(entry[u], sum.base, acc[u]);
  }
  for (; chains > 1 && entry != end; ++entry) add_entry<T>(*entry, sum.base, acc[0]);
  TERN_UNROLL
  for (int u = 1; u < chains; ++u) {
    TERN_UNROLL
    for (int t = 0; t < T; ++t) acc[0][t] += acc[u][t];
  }
  TERN_UNROLL
  for (int t = 0; t < T - 1; ++t) {
    float* const to = sum.sums + t * vec_floats;
    store(to, load(to) + acc[0][t]);
  }
  float* const to = sum.sums + (T - 1) * vec_floats;
  const int64_t left = sum.floats - (T - 1) * vec_floats;
  if (left == vec_floats) return store(to, load(to) + acc[0][T - 1]);
  float last[vec_floats];
  store(last, acc[0][T - 1]);
  for (int64_t i = 0; i < left; ++i) to[i] += last[i];
}

template <int T = 1>
SparseFunction pick(int64_t vectors) {
  if constexpr (T < max_sparse_vectors) {
    if (vectors > T) return pick<T + 1>(vectors);
  }
  return compute<T>;
}

}  // namespace

void live_values(const float* __restrict dy, const float* __restrict y, int64_t count,
                 float* __restrict values, float* __restrict sums) {
  if (y) {
    for (int64_t i = 0; i < count; ++i) values[i] = y[i] <= 0 ? 0.0f : dy[i];
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = dy[i];
  }
  for (int64_t i = 0; sums && i < count; ++i) sums[i] += values[i];
}

SparseFunction sparse_sum(int64_t vectors) { return pick(vectors); }

}  // namespace tern::simd::TERN_ISA
