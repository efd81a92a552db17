// The names under which cuBLAS offers products; each with sizes of 32 and of 64 bits.
#include <tern/tests/simgpu/cublas/gemm.h>

using simgpu::cublas::Batch;
using simgpu::cublas::check;
using simgpu::cublas::compute_type;
using simgpu::cublas::gemm;

namespace {

/// cublasSgemm and its kind: one type for everything.
template <class T>
cublasStatus_t typed(cublasHandle_t handle, const char* call, cudaDataType type, cublasOperation_t op_a,
                     cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const T* alpha, const void* a,
                     int64_t lda, int64_t stride_a, const void* b, int64_t ldb, int64_t stride_b,
                     const T* beta, void* c, int64_t ldc, int64_t stride_c, int64_t count, Batch batch) {
  const cublasStatus_t status = check(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return gemm(handle, {call,
                       op_a,
                       op_b,
                       m,
                       n,
                       k,
                       alpha,
                       {a, type, lda, stride_a},
                       {b, type, ldb, stride_b},
                       beta,
                       {c, type, ldc, stride_c},
                       count,
                       batch,
                       compute_type(handle, type)});
}

}  // namespace

#define SIMGPU_TYPED(T, TYPE, INT, ONE, STRIDED, POINTERS)                                                  \
  cublasStatus_t ONE(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,   \
                     INT k, const T* alpha, const T* a, INT lda, const T* b, INT ldb, const T* beta, T* c,  \
                     INT ldc) {                                                                             \
    return typed(handle, #ONE, TYPE, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1,  \
                 Batch::strided);                                                                           \
  }                                                                                                         \
  cublasStatus_t STRIDED(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m,      \
                         INT n, INT k, const T* alpha, const T* a, INT lda, long long stride_a, const T* b, \
                         INT ldb, long long stride_b, const T* beta, T* c, INT ldc, long long stride_c,     \
                         INT count) {                                                                       \
    return typed(handle, #STRIDED, TYPE, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b,    \
                 beta, c, ldc, stride_c, count, Batch::strided);                                            \
  }                                                                                                         \
  cublasStatus_t POINTERS(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m,     \
                          INT n, INT k, const T* alpha, const T* const a[], INT lda, const T* const b[],    \
                          INT ldb, const T* beta, T* const c[], INT ldc, INT count) {                       \
    return typed(handle, #POINTERS, TYPE, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta,           \
                 const_cast<T**>(c), ldc, 0, count, Batch::pointers);                                       \
  }

SIMGPU_TYPED(float, CUDA_R_32F, int, cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemmBatched)
SIMGPU_TYPED(float, CUDA_R_32F, int64_t, cublasSgemm_v2_64, cublasSgemmStridedBatched_64,
             cublasSgemmBatched_64)
SIMGPU_TYPED(double, CUDA_R_64F, int, cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemmBatched)
SIMGPU_TYPED(double, CUDA_R_64F, int64_t, cublasDgemm_v2_64, cublasDgemmStridedBatched_64,
             cublasDgemmBatched_64)
SIMGPU_TYPED(__half, CUDA_R_16F, int, cublasHgemm, cublasHgemmStridedBatched, cublasHgemmBatched)
SIMGPU_TYPED(__half, CUDA_R_16F, int64_t, cublasHgemm_64, cublasHgemmStridedBatched_64, cublasHgemmBatched_64)

#define SIMGPU_TYPES_GIVEN(INT, ONE, STRIDED, POINTERS)                                                     \
  cublasStatus_t ONE(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,   \
                     INT k, const void* alpha, const void* a, cudaDataType type_a, INT lda, const void* b,  \
                     cudaDataType type_b, INT ldb, const void* beta, void* c, cudaDataType type_c, INT ldc, \
                     cublasComputeType_t compute, cublasGemmAlgo_t) {                                       \
    return gemm(handle, {#ONE,                                                                              \
                         op_a,                                                                              \
                         op_b,                                                                              \
                         m,                                                                                 \
                         n,                                                                                 \
                         k,                                                                                 \
                         alpha,                                                                             \
                         {a, type_a, lda},                                                                  \
                         {b, type_b, ldb},                                                                  \
                         beta,                                                                              \
                         {c, type_c, ldc},                                                                  \
                         1,                                                                                 \
                         Batch::strided,                                                                    \
                         compute});                                                                         \
  }                                                                                                         \
  cublasStatus_t STRIDED(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m,      \
                         INT n, INT k, const void* alpha, const void* a, cudaDataType type_a, INT lda,      \
                         long long stride_a, const void* b, cudaDataType type_b, INT ldb,                   \
                         long long stride_b, const void* beta, void* c, cudaDataType type_c, INT ldc,       \
                         long long stride_c, INT count, cublasComputeType_t compute, cublasGemmAlgo_t) {    \
    return gemm(handle, {#STRIDED,                                                                          \
                         op_a,                                                                              \
                         op_b,                                                                              \
                         m,                                                                                 \
                         n,                                                                                 \
                         k,                                                                                 \
                         alpha,                                                                             \
                         {a, type_a, lda, stride_a},                                                        \
                         {b, type_b, ldb, stride_b},                                                        \
                         beta,                                                                              \
                         {c, type_c, ldc, stride_c},                                                        \
                         count,                                                                             \
                         Batch::strided,                                                                    \
                         compute});                                                                         \
  }                                                                                                         \
  cublasStatus_t POINTERS(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m,     \
                          INT n, INT k, const void* alpha, const void* const a[], cudaDataType type_a,      \
                          INT lda, const void* const b[], cudaDataType type_b, INT ldb, const void* beta,   \
                          void* const c[], cudaDataType type_c, INT ldc, INT count,                         \
                          cublasComputeType_t compute, cublasGemmAlgo_t) {                                  \
    return gemm(handle, {#POINTERS,                                                                         \
                         op_a,                                                                              \
                         op_b,                                                                              \
                         m,                                                                                 \
                         n,                                                                                 \
                         k,                                                                                 \
                         alpha,                                                                             \
                         {a, type_a, lda},                                                                  \
                         {b, type_b, ldb},                                                                  \
                         beta,                                                                              \
                         {c, type_c, ldc},                                                                  \
                         count,                                                                             \
                         Batch::pointers,                                                                   \
                         compute});                                                                         \
  }

SIMGPU_TYPES_GIVEN(int, cublasGemmEx, cublasGemmStridedBatchedEx, cublasGemmBatchedEx)
SIMGPU_TYPES_GIVEN(int64_t, cublasGemmEx_64, cublasGemmStridedBatchedEx_64, cublasGemmBatchedEx_64)
