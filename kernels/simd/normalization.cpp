#include <tern/kernels/simd/normalization.h>

#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

constexpr int64_t block_rows = 32, block_elements = 1024;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// A vector of S, and S itself as a vector of one lane.
template <class S, bool wide>
struct Lane {
  static constexpr int count = wide ? 4 * vec_floats / static_cast<int>(sizeof(S)) : 1;
  typedef S V __attribute__((vector_size(4 * vec_floats)));
  [[gnu::always_inline]] static V load(const S* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
};

template <class S>
struct Lane<S, false> {
  static constexpr int count = 1;
  typedef S V;
  [[gnu::always_inline]] static S load(const S* p) { return *p; }
};

// Merges `count` elements that were found at the pivot's distance r (sum) and q (sum of squares) with `seen`
// earlier ones.
template <class S>
[[gnu::always_inline]] inline void merge(double pivot, S r, S q, double count, double seen, double& mean,
                                         double& m2) {
  const double rest = static_cast<double>(r) / count;
  const double own = static_cast<double>(q) - rest * static_cast<double>(r);
  const double delta = pivot + rest - mean;
  mean += delta * (count / (seen + count));
  m2 += (own < 0 ? 0 : own) + delta * delta * (seen * count / (seen + count));
}

// Calls strip.template operator()<Lane, N>(column) for the columns: N vectors at a time, one, single lanes.
template <class S, class Strip>
[[gnu::always_inline]] inline void for_each_strip(int64_t columns, Strip&& strip) {
  using Wide = Lane<S, true>;
  int64_t j = 0;
  for (; j + 4 * Wide::count <= columns; j += 4 * Wide::count) strip.template operator()<Wide, 4>(j);
  for (; j + Wide::count <= columns; j += Wide::count) strip.template operator()<Wide, 1>(j);
  for (; j < columns; ++j) strip.template operator()<Lane<S, false>, 1>(j);
}

// The moments of `rows` rows of one strip, merged with those of `seen` rows before them.
template <class S, class L, int N>
[[gnu::always_inline]] inline void strip_moments(const S* x, int64_t rows, int64_t stride, double seen,
                                                 double* mean, double* m2) {
  using V = typename L::V;
  const S share = S(1) / static_cast<S>(rows);
  V pivot[N] = {}, r[N] = {}, q[N] = {};
  for (int64_t i = 0; i < rows; ++i) {
    TERN_UNROLL
    for (int v = 0; v < N; ++v) pivot[v] += L::load(x + i * stride + v * L::count) * share;
  }
  for (int64_t i = 0; i < rows; ++i) {
    TERN_UNROLL
    for (int v = 0; v < N; ++v) {
      const V d = L::load(x + i * stride + v * L::count) - pivot[v];
      r[v] += d;
      q[v] += d * d;
    }
  }
  S p[N * L::count], sum[N * L::count], squares[N * L::count];
  __builtin_memcpy(p, pivot, sizeof p);
  __builtin_memcpy(sum, r, sizeof sum);
  __builtin_memcpy(squares, q, sizeof squares);
  for (int i = 0; i < N * L::count; ++i)
    merge(static_cast<double>(p[i]), sum[i], squares[i], static_cast<double>(rows), seen, mean[i], m2[i]);
}

template <class S>
void column_moments(const NormTile& t, const S* x, double* mean, double* m2) {
  for (int64_t j = 0; j < t.columns; ++j) mean[j] = m2[j] = 0;
  for (int64_t row = 0; row < t.rows; row += block_rows) {
    const int64_t rows = smaller(block_rows, t.rows - row);
    for_each_strip<S>(t.columns, [&]<class L, int N>(int64_t j) {
      strip_moments<S, L, N>(x + row * t.stride + j, rows, t.stride, static_cast<double>(row), mean + j,
                             m2 + j);
    });
  }
}

template <class S>
void column_normalize(const NormTile& t, const S* __restrict x, const S* __restrict pivot,
                      const S* __restrict scale, const S* __restrict shift, S* __restrict y) {
  for (int64_t i = 0; i < t.rows; ++i, x += t.stride, y += t.stride) {
    for (int64_t j = 0; j < t.columns; ++j) y[j] = (x[j] - pivot[j]) * scale[j] + shift[j];
  }
}

template <class S>
void column_sums(const NormTile& t, const S* dy, const S* x, const S* pivot, double* sum, double* product) {
  for (int64_t j = 0; j < t.columns; ++j) sum[j] = product[j] = 0;
  for (int64_t row = 0; row < t.rows; row += block_rows) {
    const int64_t rows = smaller(block_rows, t.rows - row);
    for_each_strip<S>(t.columns, [&]<class L, int N>(int64_t j) {
      using V = typename L::V;
      V a[N] = {}, b[N] = {}, at[N];
      for (int v = 0; v < N; ++v) at[v] = L::load(pivot + j + v * L::count);
      for (int64_t i = row; i < row + rows; ++i) {
        TERN_UNROLL
        for (int v = 0; v < N; ++v) {
          const int64_t k = i * t.stride + j + v * L::count;
          const V d = L::load(dy + k);
          a[v] += d;
          b[v] += d * (L::load(x + k) - at[v]);
        }
      }
      S one[N * L::count], two[N * L::count];
      __builtin_memcpy(one, a, sizeof one);
      __builtin_memcpy(two, b, sizeof two);
      for (int i = 0; i < N * L::count; ++i) {
        sum[j + i] += static_cast<double>(one[i]);
        product[j + i] += static_cast<double>(two[i]);
      }
    });
  }
}

template <class S>
void column_gradient(const NormTile& t, const S* __restrict dy, const S* __restrict x,
                     const S* __restrict pivot, const S* __restrict a, const S* __restrict b,
                     const S* __restrict c, S* __restrict dx) {
  for (int64_t i = 0; i < t.rows; ++i, dy += t.stride, x += t.stride, dx += t.stride) {
    for (int64_t j = 0; j < t.columns; ++j) dx[j] = dy[j] * a[j] + (x[j] - pivot[j]) * b[j] + c[j];
  }
}

// Two sums over a block of a row: what step(i, a, b) adds for the element or vector at i.
template <class S, class Step>
[[gnu::always_inline]] inline void row_pair(int64_t count, double& first, double& second, Step&& step) {
  using Wide = Lane<S, true>;
  typename Wide::V a[4] = {}, b[4] = {};
  int64_t i = 0;
  for (; i + 4 * Wide::count <= count; i += 4 * Wide::count) {
    TERN_UNROLL
    for (int v = 0; v < 4; ++v) step.template operator()<Wide>(i + v * Wide::count, a[v], b[v]);
  }
  for (; i + Wide::count <= count; i += Wide::count) step.template operator()<Wide>(i, a[0], b[0]);
  S one = 0, two = 0;
  for (; i < count; ++i) step.template operator()<Lane<S, false>>(i, one, two);
  a[0] = (a[0] + a[1]) + (a[2] + a[3]);
  b[0] = (b[0] + b[1]) + (b[2] + b[3]);
  for (int k = 0; k < Wide::count; ++k) one += a[0][k], two += b[0][k];
  first = static_cast<double>(one), second = static_cast<double>(two);
}

template <class S>
void row_moments(const S* x, int64_t count, double* mean, double* m2) {
  *mean = *m2 = 0;
  for (int64_t at = 0; at < count; at += block_elements, x += block_elements) {
    const int64_t n = smaller(block_elements, count - at);
    const S share = S(1) / static_cast<S>(n);
    double r, q, unused;
    row_pair<S>(n, r, unused, [&]<class L>(int64_t i, auto& a, auto&) { a += L::load(x + i) * share; });
    const S pivot = static_cast<S>(r);
    row_pair<S>(n, r, q, [&]<class L>(int64_t i, auto& a, auto& b) {
      const auto d = L::load(x + i) - pivot;
      a += d;
      b += d * d;
    });
    merge(static_cast<double>(pivot), r, q, static_cast<double>(n), static_cast<double>(at), *mean, *m2);
  }
}

// Calls body(weight at i, bias at i), without a test of the pointers inside the loop.
template <class S, class Loop>
[[gnu::always_inline]] inline void with_affine(const S* weight, const S* bias, Loop&& loop) {
  const auto one = [](int64_t) { return S(1); };
  const auto nothing = [](int64_t) { return S(0); };
  const auto factor = [weight](int64_t i) { return weight[i]; };
  const auto term = [bias](int64_t i) { return bias[i]; };
  if (weight)
    bias ? loop(factor, term) : loop(factor, nothing);
  else
    bias ? loop(one, term) : loop(one, nothing);
}

template <class S>
void row_normalize(const S* __restrict x, int64_t count, S pivot, S scale, S shift,
                   const S* __restrict weight, const S* __restrict bias, S* __restrict y) {
  with_affine(weight, bias, [=](auto factor, auto term) {
    for (int64_t i = 0; i < count; ++i) y[i] = ((x[i] - pivot) * scale + shift) * factor(i) + term(i);
  });
}

template <class S, bool weighted>
void row_block_sums(const S* dy, const S* x, const S* weight, int64_t count, S pivot, double& sum,
                    double& product) {
  row_pair<S>(count, sum, product, [&]<class L>(int64_t i, auto& a, auto& b) {
    auto d = L::load(dy + i);
    if constexpr (weighted) d = d * L::load(weight + i);
    a += d;
    b += d * (L::load(x + i) - pivot);
  });
}

template <class S>
void row_sums(const S* dy, const S* x, const S* weight, int64_t count, S pivot, double* sum,
              double* product) {
  *sum = *product = 0;
  for (int64_t at = 0; at < count; at += block_elements) {
    const int64_t n = smaller(block_elements, count - at);
    double a, b;
    weight ? row_block_sums<S, true>(dy + at, x + at, weight + at, n, pivot, a, b)
           : row_block_sums<S, false>(dy + at, x + at, nullptr, n, pivot, a, b);
    *sum += a, *product += b;
  }
}

template <class S>
void row_gradient(const S* __restrict dy, const S* __restrict x, const S* __restrict weight, int64_t count,
                  S pivot, S a, S b, S c, S* __restrict dx) {
  with_affine<S>(weight, nullptr, [=](auto factor, auto) {
    for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * factor(i) * a + (x[i] - pivot) * b + c;
  });
}

template <class S>
void row_parameters(const S* __restrict dy, const S* __restrict x, int64_t count, S pivot, S scale, S shift,
                    S* __restrict dweight, S* __restrict dbias) {
  for (int64_t i = 0; dweight && i < count; ++i) dweight[i] += dy[i] * ((x[i] - pivot) * scale + shift);
  for (int64_t i = 0; dbias && i < count; ++i) dbias[i] += dy[i];
}

template <class S>
constexpr NormColumns<S> columns = {column_moments<S>, column_normalize<S>, column_sums<S>,
                                    column_gradient<S>};
template <class S>
constexpr NormRow<S> row = {row_moments<S>, row_normalize<S>, row_sums<S>, row_gradient<S>,
                            row_parameters<S>};

}  // namespace

extern const NormKernels norm_table;
const NormKernels norm_table = {columns<float>, columns<double>, row<float>, row<double>};

}  // namespace tern::simd::TERN_ISA
