#include <tern/kernels/scalar_math.h>
#include <tern/kernels/simd/attention.h>
#include <tern/kernels/simd/row.h>

namespace tern::simd::TERN_ISA {

extern const AttentionKernels attention_table;

namespace {

template <class T>
void weights(const AttentionRow<T>& row) {
  T* __restrict const x = row.scores;
  const int64_t step = row.mask_stride;
  if (row.added) {
    for (int64_t i = 0; i < row.seen; ++i) x[i] += row.added[i * step];
  }
  if (row.kept) {
    for (int64_t i = 0; i < row.seen; ++i) x[i] = row.kept[i * step] ? x[i] : lowest<T>;
  }
  const T most = largest(x, row.seen);
  const int64_t seen = most == lowest<T> ? 0 : row.seen;
  for (int64_t i = 0; i < seen; ++i) x[i] = math::exp(x[i] - most);
  const T scale = 1 / sum_of<T>(seen, [x](int64_t i) { return x[i]; });
  for (int64_t i = 0; i < seen; ++i) x[i] *= scale;
  for (int64_t i = seen; i < row.size; ++i) x[i] = 0;
}

template <class T>
void backward(const T* __restrict y, T* __restrict dy, int64_t size) {
  const T sum = sum_of<T>(size, [y, dy](int64_t i) { return y[i] * dy[i]; });
  for (int64_t i = 0; i < size; ++i) dy[i] = y[i] * (dy[i] - sum);
}

}  // namespace

const AttentionKernels attention_table = {{weights<float>, backward<float>},
                                          {weights<double>, backward<double>}};

}  // namespace tern::simd::TERN_ISA
