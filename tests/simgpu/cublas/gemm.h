// One product, or a batch of them, as all of cuBLAS's gemm functions ask for it.
#pragma once

#include <tern/tests/simgpu/cublas/handle.h>

namespace simgpu::cublas {

struct Operand {
  const void* data;  ///< of one matrix, or of the array of pointers
  cudaDataType type;
  int64_t leading;
  int64_t stride = 0;  ///< between the matrices of a batch
};

enum class Batch { strided, pointers };

struct Gemm {
  const char* call;
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  const void* alpha;
  Operand a, b;
  const void* beta;
  Operand c;
  int64_t count = 1;
  Batch batch = Batch::strided;
  cublasComputeType_t compute;
};

/// C = alpha op(A) op(B) + beta C, as cublasGemmEx documents it: what it does not list is
/// CUBLAS_STATUS_NOT_SUPPORTED.
cublasStatus_t gemm(cublasHandle_t handle, const Gemm& asked);

/// The compute type of cublasSgemm and its kind, as the handle's math mode has it.
cublasComputeType_t compute_type(cublasHandle_t handle, cudaDataType type);

}  // namespace simgpu::cublas
