#include <tern/kernels/scalar_math.h>
#include <tern/kernels/simd/attention.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

extern const AttentionKernels attention_table;

namespace {

// Sums and maxima run in this many lanes side by side, so that the compiler can use vectors.
constexpr int64_t lanes = 16;

template <class T>
[[gnu::always_inline]] inline T larger(T a, T b) {  // NaN stays
  const bool better = (b > a) | (b != b);
  return better ? b : a;
}

template <class T>
T largest_of(const T* x, int64_t size, T least) {
  T best[lanes];
  for (int64_t k = 0; k < lanes; ++k) best[k] = least;
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    for (int64_t k = 0; k < lanes; ++k) best[k] = larger(best[k], x[i + k]);
  }
  for (; i < size; ++i) best[0] = larger(best[0], x[i]);
  for (int64_t k = 1; k < lanes; ++k) best[0] = larger(best[0], best[k]);
  return best[0];
}

// The sum of term(i), i < size.
template <class T, class Term>
[[gnu::always_inline]] inline T sum_of(int64_t size, Term term) {
  T sum[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    for (int64_t k = 0; k < lanes; ++k) sum[k] += term(i + k);
  }
  for (; i < size; ++i) sum[0] += term(i);
  for (int64_t k = 1; k < lanes; ++k) sum[0] += sum[k];
  return sum[0];
}

template <class T>
void weights(const AttentionRow<T>& row) {
  T* __restrict const x = row.scores;
  const T nothing = -static_cast<T>(__builtin_inf());
  const int64_t step = row.mask_stride;
  if (row.added) {
    for (int64_t i = 0; i < row.seen; ++i) x[i] += row.added[i * step];
  }
  if (row.kept) {
    for (int64_t i = 0; i < row.seen; ++i) x[i] = row.kept[i * step] ? x[i] : nothing;
  }
  const T largest = largest_of(x, row.seen, nothing);
  const int64_t seen = largest == nothing ? 0 : row.seen;
  for (int64_t i = 0; i < seen; ++i) x[i] = math::exp(x[i] - largest);
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
