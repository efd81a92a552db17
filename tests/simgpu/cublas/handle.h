// The handle of the stand-in for cuBLAS, and what every call checks before it does anything.
#pragma once

#include <tern/tests/simgpu/handles.h>
#include <tern/tests/simgpu/product.h>

#include <cublas_v2.h>

struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  void* workspace = nullptr;  ///< null: the library's own
  size_t workspace_bytes = 0;
  int sm_count_target = 0;
};

namespace simgpu::cublas {

Handles<cublasContext>& handles();

/// A setting's call: the handle must live.
cublasStatus_t check(cublasHandle_t handle, const char* call);

/// A computing call: the handle must live, its device be current, and its stream of that device.
cublasStatus_t check_computing(cublasHandle_t handle, const char* call);

/// The numbers alpha and beta, read when the call is made or, in device memory, when its turn comes.
class Scalar {
 public:
  Scalar(cublasHandle_t handle, const void* pointer, cudaDataType type);

  void add_access(std::vector<Access>& accesses) const;
  long double value() const;
  /// Whether what it multiplies is surely read; in device memory nobody knows before its turn.
  bool counts() const { return !on_device_ && value_ != 0; }

 private:
  const void* pointer_;
  cudaDataType type_;
  bool on_device_;
  long double value_ = 0;
};

/// Queues what computes on the handle's stream; with the user's workspace, `workspace_bytes` of it are used.
cublasStatus_t launch(cublasHandle_t handle, const char* call, std::vector<Access> accesses,
                      std::function<void()> work, size_t workspace_bytes = 0);

}  // namespace simgpu::cublas
