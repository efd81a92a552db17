// Matrix times vector, outer product, sum of matrices.
#include <tern/tests/simgpu/cublas/vectors.h>

#include <algorithm>

using namespace simgpu;
using namespace simgpu::cublas;

namespace {

long double get(const Matrix& matrix, int64_t row, int64_t column) {
  return load(matrix.data, matrix.type, row * matrix.row_step + column * matrix.column_step);
}

void set(const Matrix& matrix, int64_t row, int64_t column, long double value) {
  store(const_cast<void*>(matrix.data), matrix.type, row * matrix.row_step + column * matrix.column_step,
        value);
}

/// `a` as op has it.
cublasStatus_t gemv(cublasHandle_t handle, const char* call, const void* alpha, const Matrix& a, Vector x,
                    const void* beta, Vector y) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const int64_t leading = std::max(a.row_step, a.column_step);
  const int64_t stored = a.row_step == 1 ? a.rows : a.columns;
  const bool fine = a.rows >= 0 && a.columns >= 0 && x.step != 0 && y.step != 0 && alpha && beta;
  if (!fine || leading < std::max<int64_t>(1, stored)) return CUBLAS_STATUS_INVALID_VALUE;
  if (a.rows == 0 || a.columns == 0) return CUBLAS_STATUS_SUCCESS;
  const Scalar factor(handle, alpha, a.type), keep(handle, beta, a.type);
  std::vector<Access> accesses = {a.access(false), x.access(false), y.access(true)};
  if (keep.counts()) accesses.push_back(y.access(false));
  std::reverse(accesses.begin(), accesses.end());  // y is read before it is written
  factor.add_access(accesses);
  keep.add_access(accesses);
  return launch(handle, call, accesses, [=] {
    const Matrix here = a.on_host();
    const Vector from = x.on_host(), to = y.on_host();
    const long double by = factor.value(), old = keep.value();
    for (int64_t i = 0; i < here.rows; ++i) {
      long double sum = 0;
      for (int64_t j = 0; j < here.columns; ++j) sum += get(here, i, j) * from.get(j);
      to.set(i, old == 0 ? by * sum : by * sum + old * to.get(i));
    }
  });
}

/// C = alpha op(A) + beta op(B). What a factor of 0 drops is not read, and may be null.
cublasStatus_t geam(cublasHandle_t handle, const char* call, const void* alpha, const Matrix& a,
                    const void* beta, const Matrix& b, const Matrix& c) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (c.rows < 0 || c.columns < 0 || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  const auto in_place = [&](const Matrix& input) {
    return input.data == c.data && input.column_step == c.column_step;
  };
  for (const Matrix* input : {&a, &b}) {
    if (input->data && overlap(*input, c) && !in_place(*input)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (c.rows == 0 || c.columns == 0) return CUBLAS_STATUS_SUCCESS;
  const Scalar factor_a(handle, alpha, c.type), factor_b(handle, beta, c.type);
  std::vector<Access> accesses;
  factor_a.add_access(accesses);
  factor_b.add_access(accesses);
  if (factor_a.counts()) accesses.push_back(a.access(false));
  if (factor_b.counts()) accesses.push_back(b.access(false));
  accesses.push_back(c.access(true));
  return launch(handle, call, accesses, [=] {
    const Matrix here_a = a.on_host(), here_b = b.on_host(), here_c = c.on_host();
    const long double by_a = factor_a.value(), by_b = factor_b.value();
    for (int64_t j = 0; j < here_c.columns; ++j) {
      for (int64_t i = 0; i < here_c.rows; ++i) {
        const long double of_a = by_a == 0 ? 0 : by_a * get(here_a, i, j);
        const long double of_b = by_b == 0 ? 0 : by_b * get(here_b, i, j);
        set(here_c, i, j, of_a + of_b);
      }
    }
  });
}

cublasStatus_t ger(cublasHandle_t handle, const char* call, const void* alpha, Vector x, Vector y,
                   const Matrix& a) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const bool fine = a.rows >= 0 && a.columns >= 0 && x.step != 0 && y.step != 0 && alpha;
  if (!fine || a.column_step < std::max<int64_t>(1, a.rows)) return CUBLAS_STATUS_INVALID_VALUE;
  if (a.rows == 0 || a.columns == 0) return CUBLAS_STATUS_SUCCESS;
  const Scalar factor(handle, alpha, a.type);
  std::vector<Access> accesses = {x.access(false), y.access(false), a.access(false), a.access(true)};
  factor.add_access(accesses);
  return launch(handle, call, accesses, [=] {
    const Matrix here = a.on_host();
    const Vector left = x.on_host(), right = y.on_host();
    const long double by = factor.value();
    for (int64_t j = 0; j < here.columns; ++j) {
      for (int64_t i = 0; i < here.rows; ++i) {
        set(here, i, j, get(here, i, j) + by * left.get(i) * right.get(j));
      }
    }
  });
}

}  // namespace

#define SIMGPU_MATRICES(T, TYPE, L)                                                                     \
  cublasStatus_t cublas##L##gemv_v2(cublasHandle_t handle, cublasOperation_t op, int m, int n,          \
                                    const T* alpha, const T* a, int lda, const T* x, int step_x,        \
                                    const T* beta, T* y, int step_y) {                                  \
    const bool plain = op == CUBLAS_OP_N;                                                               \
    const int rows = plain ? m : n, columns = plain ? n : m;                                            \
    return gemv(handle, "cublas" #L "gemv", alpha, column_major(a, TYPE, op, rows, columns, lda),       \
                {x, TYPE, columns, step_x}, beta, {y, TYPE, rows, step_y});                             \
  }                                                                                                     \
  cublasStatus_t cublas##L##geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, \
                                 int m, int n, const T* alpha, const T* a, int lda, const T* beta,      \
                                 const T* b, int ldb, T* c, int ldc) {                                  \
    return geam(handle, "cublas" #L "geam", alpha, column_major(a, TYPE, op_a, m, n, lda), beta,        \
                column_major(b, TYPE, op_b, m, n, ldb), column_major(c, TYPE, CUBLAS_OP_N, m, n, ldc)); \
  }                                                                                                     \
  cublasStatus_t cublas##L##ger_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x,     \
                                   int step_x, const T* y, int step_y, T* a, int lda) {                 \
    return ger(handle, "cublas" #L "ger", alpha, {x, TYPE, m, step_x}, {y, TYPE, n, step_y},            \
               column_major(a, TYPE, CUBLAS_OP_N, m, n, lda));                                          \
  }

SIMGPU_MATRICES(float, CUDA_R_32F, S)
SIMGPU_MATRICES(double, CUDA_R_64F, D)
