#include <tern/kernels/simd/gemm.h>

#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

template <class S>
struct Loops {
  static constexpr int lanes = 4 * vec_floats / static_cast<int>(sizeof(S));
  static constexpr int64_t block_k = 16,
                           block_n = 1024 / static_cast<int64_t>(sizeof(S));  // b's block: 16 KiB
  static constexpr int64_t run_k = 4096 / static_cast<int64_t>(sizeof(S));
  typedef S V __attribute__((vector_size(4 * vec_floats)));
  using Task = GemmTask<S>;

  [[gnu::always_inline]] static void load(V& v, const S* p) { __builtin_memcpy(&v, p, sizeof v); }

  // R rows and N vectors of c, from products first_k, …, first_k + count - 1.
  template <int R, int N>
  [[gnu::always_inline]] static void outer_tile(const Task& t, int64_t i, int64_t j, int64_t first_k,
                                                int64_t count, bool add) {
    V acc[R][N] = {};
    const S* a = t.a + i * t.a_row + first_k * t.a_step;
    const S* b = t.b + first_k * t.ldb + j;
    for (int64_t p = 0; p < count; ++p, a += t.a_step, b += t.ldb) {
      V x[N];
      TERN_UNROLL
      for (int v = 0; v < N; ++v) load(x[v], b + v * lanes);
      TERN_UNROLL
      for (int r = 0; r < R; ++r) {
        const V factor = a[r * t.a_row] - V{};
        TERN_UNROLL
        for (int v = 0; v < N; ++v) acc[r][v] += factor * x[v];
      }
    }
    TERN_UNROLL
    for (int r = 0; r < R; ++r) {
      TERN_UNROLL
      for (int v = 0; v < N; ++v) {
        S* c = t.c + (i + r) * t.ldc + j + v * lanes;
        V before{};
        if (add) load(before, c);
        const V after = before + t.alpha * acc[r][v];
        __builtin_memcpy(c, &after, sizeof after);
      }
    }
  }

  static void outer_column(const Task& t, int64_t j, int64_t first_k, int64_t count, bool add) {
    for (int64_t i = 0; i < t.m; ++i) {
      S sum = 0;
      for (int64_t p = first_k; p < first_k + count; ++p)
        sum += t.a[i * t.a_row + p * t.a_step] * t.b[p * t.ldb + j];
      S& c = t.c[i * t.ldc + j];
      c = (add ? c : S{0}) + t.alpha * sum;
    }
  }

  template <int R>
  static void outer_rows(const Task& t, int64_t i, int64_t j, int64_t end_j, int64_t first_k, int64_t count,
                         bool add) {
    for (; j + 2 * lanes <= end_j; j += 2 * lanes) outer_tile<R, 2>(t, i, j, first_k, count, add);
    for (; j + lanes <= end_j; j += lanes) outer_tile<R, 1>(t, i, j, first_k, count, add);
  }

  static void outer(const Task& t) {
    const int64_t whole = t.n / lanes * lanes;
    for (int64_t j = 0; j < whole; j += block_n) {
      const int64_t end_j = j + block_n < whole ? j + block_n : whole;
      for (int64_t k = 0; k < t.k; k += block_k) {
        const int64_t count = t.k - k < block_k ? t.k - k : block_k;
        const bool add = t.accumulate || k > 0;
        int64_t i = 0;
        for (; i + 4 <= t.m; i += 4) outer_rows<4>(t, i, j, end_j, k, count, add);
        for (; i < t.m; ++i) outer_rows<1>(t, i, j, end_j, k, count, add);
      }
    }
    for (int64_t j = whole; j < t.n; ++j) outer_column(t, j, 0, t.k, t.accumulate);
  }

  [[gnu::always_inline]] static S total(const V& v) {
    S parts[lanes];
    __builtin_memcpy(parts, &v, sizeof parts);
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
    }
    return parts[0];
  }

  // R rows and N columns of c.
  template <int R, int N>
  [[gnu::noinline]] static void dot_tile(const Task& t, int64_t i, int64_t j, int64_t first_k, int64_t count,
                                         bool add) {
    V acc[R][N] = {};
    const S* a = t.a + i * t.a_row + first_k;
    const S* b = t.b + j * t.ldb + first_k;
    int64_t p = 0;
    for (; p + lanes <= count; p += lanes) {
      V x[N];
      TERN_UNROLL
      for (int c = 0; c < N; ++c) load(x[c], b + c * t.ldb + p);
      TERN_UNROLL
      for (int r = 0; r < R; ++r) {
        V y;
        load(y, a + r * t.a_row + p);
        TERN_UNROLL
        for (int c = 0; c < N; ++c) acc[r][c] += y * x[c];
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int n = 0; n < N; ++n) {
        S sum = total(acc[r][n]);
        for (int64_t q = p; q < count; ++q) sum += a[r * t.a_row + q] * b[n * t.ldb + q];
        S& c = t.c[(i + r) * t.ldc + j + n];
        c = (add ? c : S{0}) + t.alpha * sum;
      }
    }
  }

  template <int R>
  static void dot_rows(const Task& t, int64_t i, int64_t first_k, int64_t count, bool add) {
    int64_t j = 0;
    for (; j + 4 <= t.n; j += 4) dot_tile<R, 4>(t, i, j, first_k, count, add);
    for (; j + 2 <= t.n; j += 2) dot_tile<R, 2>(t, i, j, first_k, count, add);
    for (; j < t.n; ++j) dot_tile<R, 1>(t, i, j, first_k, count, add);
  }

  static void dot(const Task& t) {
    for (int64_t k = 0; k < t.k; k += run_k) {
      const int64_t count = t.k - k < run_k ? t.k - k : run_k;
      const bool add = t.accumulate || k > 0;
      int64_t i = 0;
      for (; i + 3 <= t.m; i += 3) dot_rows<3>(t, i, k, count, add);
      for (; i < t.m; ++i) dot_rows<1>(t, i, k, count, add);
    }
  }
};

}  // namespace

extern const GemmKernels gemm_table;
const GemmKernels gemm_table{{Loops<float>::outer, Loops<float>::dot},
                             {Loops<double>::outer, Loops<double>::dot}};

}  // namespace tern::simd::TERN_ISA
