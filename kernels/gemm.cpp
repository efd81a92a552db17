#include <tern/kernels/gemm.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/simd/gemm.h>

#include <oneapi/dnnl/dnnl.h>

#include <dlfcn.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// oneDNN would start threads of its own through OpenMP, which is there only as its dependency.
class OneThread {
 public:
  OneThread() {
    static const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    if (set() && get) threads_ = get();
    if (threads_ > 1) set()(1);
  }
  ~OneThread() {
    if (threads_ > 1) set()(threads_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  using Set = void (*)(int);
  static Set set() {
    static const auto function = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    return function;
  }
  int threads_ = 1;
};

struct Tile {
  int64_t row, column, rows, columns;
};

template <class T>
Tile tile_at(const GemmPlan<T>& plan, int64_t index) {
  const int64_t across = (plan.sizes.n + plan.tile_n - 1) / plan.tile_n;
  const int64_t row = index / across * plan.tile_m, column = index % across * plan.tile_n;
  return {row, column, std::min(plan.tile_m, plan.sizes.m - row),
          std::min(plan.tile_n, plan.sizes.n - column)};
}

// c = beta c, or the bias.
template <class T>
void prepare_tile(T* c, int64_t ldc, const Tile& tile, T beta, const T* bias) {
  for (int64_t i = 0; i < tile.rows; ++i, c += ldc) {
    if (bias)
      std::copy_n(bias + tile.column, tile.columns, c);
    else if (beta == T{0})
      std::fill_n(c, tile.columns, T{0});
    else if (beta != T{1})
      std::for_each_n(c, tile.columns, [beta](T& value) { value *= beta; });
  }
}

template <class T>
const simd::GemmLoops<T>& loops() {
  if constexpr (sizeof(T) == 4)
    return simd::gemm_kernels().for_float;
  else
    return simd::gemm_kernels().for_double;
}

void check_status(const GemmSizes& s, const Tile& tile, dnnl_status_t status) {
  check(status == dnnl_success, "gemm: oneDNN refused a product of ", tile.rows, " x ", s.k, " and ", s.k,
        " x ", tile.columns, " with status ", static_cast<int>(status));
}

void library_gemm(const GemmSizes& s, const Tile& tile, float alpha, const float* a, const float* b,
                  float beta, float* c) {
  const OneThread one_thread;
  check_status(s, tile,
               dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', tile.rows, tile.columns, s.k,
                          alpha, a, s.lda, b, s.ldb, beta, c, s.ldc));
}

// oneDNN exports it, but declares it in none of its headers: its arguments are those of dnnl_sgemm.
using Bfloat16Gemm = dnnl_status_t (*)(char, char, int64_t, int64_t, int64_t, float, const BFloat16*, int64_t,
                                       const BFloat16*, int64_t, float, float*, int64_t);
Bfloat16Gemm bfloat16_gemm() {
  static const auto function = reinterpret_cast<Bfloat16Gemm>(dlsym(RTLD_DEFAULT, "dnnl_gemm_bf16bf16f32"));
  return function;
}

void library_gemm(const GemmSizes& s, const Tile& tile, float alpha, const BFloat16* a, const BFloat16* b,
                  float beta, float* c) {
  const OneThread one_thread;
  check_status(s, tile,
               bfloat16_gemm()(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', tile.rows, tile.columns,
                               s.k, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc));
}

// Where the last dimension of b is not the closest, the loops that need it there read a copy in blocks.
void library_gemm(const GemmSizes& s, const Tile& tile, double alpha, const double* a, const double* b,
                  double, double* c) {
  constexpr int64_t block = 32;
  double copy[block * block];
  for (int64_t k = 0; k < s.k; k += block) {
    const int64_t depth = std::min(block, s.k - k);
    for (int64_t j = 0; j < tile.columns; j += block) {
      const int64_t width = std::min(block, tile.columns - j);
      for (int64_t x = 0; x < width; ++x) {
        for (int64_t p = 0; p < depth; ++p) copy[p * width + x] = b[(j + x) * s.ldb + k + p];
      }
      loops<double>().outer(
          {tile.rows, width, depth, alpha, a + k * s.lda, 1, s.lda, copy, width, c + j, s.ldc, true});
    }
  }
}

// Thin float32 products, and all of float64, run through loops of our own where these fit.
template <class T>
typename GemmPlan<T>::Method choose(const GemmSizes& s) {
  using Method = typename GemmPlan<T>::Method;
  constexpr bool always = sizeof(T) == 8;
  if (!s.transpose_b && (always || (s.n >= 16 && (s.m <= 16 || s.k <= 32)))) return Method::outer;
  if (s.transpose_b && !s.transpose_a && (always || ((s.n <= 16 || s.m <= 16) && s.k >= 64)))
    return Method::dot;
  return Method::library;
}

// A vector is a row and a column at the same time: the way that suits the loops is taken.
GemmSizes simplify(GemmSizes s) {
  if (s.m == 1 && s.transpose_a && s.lda == 1) s.transpose_a = false, s.lda = s.k;
  if (s.n == 1 && !s.transpose_b && s.ldb == 1) s.transpose_b = true, s.ldb = s.k;
  return s;
}

}  // namespace

template <class T>
GemmPlan<T>::GemmPlan(const GemmSizes& product) : GemmPlan(product, choose<T>(simplify(product))) {}

template <class T>
GemmPlan<T>::GemmPlan(const GemmSizes& product, Method way) : sizes(simplify(product)), method(way) {
  const GemmSizes& s = product;
  check(s.lda >= (s.transpose_a ? s.m : s.k) && s.ldb >= (s.transpose_b ? s.k : s.n) && s.ldc >= s.n,
        "gemm: leading dimensions ", s.lda, ", ", s.ldb, ", ", s.ldc, " are smaller than the rows of ", s.m,
        " x ", s.k, " times ", s.k, " x ", s.n);
  if (method == Method::library) {
    tile_m = 256, tile_n = 512;
    while (tile_m > 64 && ((s.m + tile_m - 1) / tile_m) * ((s.n + tile_n - 1) / tile_n) < 8)
      tile_m /= 2, tile_n /= 2;
  } else {
    tile_m = method == Method::outer ? 64 : 16;
    tile_n = method == Method::outer ? 256 : 64;
  }
  tiles = ((s.m + tile_m - 1) / tile_m) * ((s.n + tile_n - 1) / tile_n);
  const int64_t work = std::min(tile_m, s.m) * std::min(tile_n, s.n) * s.k;
  tiles_per_call = std::max<int64_t>((int64_t{1} << 19) / std::max<int64_t>(work, 1), 1);
}

template <class T>
template <class In>
void GemmPlan<T>::run(int64_t index, T alpha, const In* a, const In* b, T beta, const T* bias, T* c) const {
  const Tile tile = tile_at(*this, index);
  a += tile.row * (sizes.transpose_a ? 1 : sizes.lda);
  b += tile.column * (sizes.transpose_b ? sizes.ldb : 1);
  c += tile.row * sizes.ldc + tile.column;
  const bool untouched =
      beta == T{0} && !bias && sizes.k > 0 && (sizeof(T) == 4 || method != Method::library);
  if (!untouched) prepare_tile(c, sizes.ldc, tile, beta, bias);
  if (sizes.k == 0) return;
  if (method == Method::library) return library_gemm(sizes, tile, alpha, a, b, T(untouched ? 0 : 1), c);
  if constexpr (std::is_same_v<In, T>) {
    const simd::GemmTask<T> task{tile.rows,
                                 tile.columns,
                                 sizes.k,
                                 alpha,
                                 a,
                                 sizes.transpose_a ? 1 : sizes.lda,
                                 sizes.transpose_a ? sizes.lda : 1,
                                 b,
                                 sizes.ldb,
                                 c,
                                 sizes.ldc,
                                 !untouched};
    (method == Method::outer ? loops<T>().outer : loops<T>().dot)(task);
  }
}

template struct GemmPlan<float>;
template struct GemmPlan<double>;
template void GemmPlan<float>::run(int64_t, float, const float*, const float*, float, const float*,
                                   float*) const;
template void GemmPlan<float>::run(int64_t, float, const BFloat16*, const BFloat16*, float, const float*,
                                   float*) const;
template void GemmPlan<double>::run(int64_t, double, const double*, const double*, double, const double*,
                                    double*) const;

bool multiplies_bfloat16() {
  static const bool has =
      bfloat16_gemm() != nullptr && (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) &
                                     dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
  return has;
}

namespace {
template <class T>
void run_gemm(const GemmSizes& sizes, T alpha, const T* a, const T* b, T beta, T* c) {
  const GemmPlan<T> plan(sizes);
  parallel_for(plan.tiles, plan.tiles_per_call, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) plan.run(tile, alpha, a, b, beta, nullptr, c);
  });
}
}  // namespace

void gemm(const GemmSizes& sizes, float alpha, const float* a, const float* b, float beta, float* c) {
  run_gemm(sizes, alpha, a, b, beta, c);
}

void gemm(const GemmSizes& sizes, double alpha, const double* a, const double* b, double beta, double* c) {
  run_gemm(sizes, alpha, a, b, beta, c);
}

}  // namespace tern::kernels
