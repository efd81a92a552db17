// Handles of cuBLASLt. A handle of cuBLAS is one too.
#pragma once

#include <tern/tests/simgpu/handles.h>

#include <cublasLt.h>

struct cublasLtContext {
  int device = 0;
};

namespace simgpu::cublaslt {

/// The handle must live and belong to the current device, on which `stream` must be.
cublasStatus_t check(cublasLtHandle_t handle, const char* call, cudaStream_t stream = nullptr);

}  // namespace simgpu::cublaslt

/// cuBLAS tells of its handles by two calls that the real libraries keep between themselves.
extern "C" void cublasLtCtxInit(const void* cublas_handle, int device);
extern "C" void cublasLtShutdownCtx(const void* cublas_handle);
