// Creating handles, and what is set on them.
#include <tern/tests/simgpu/cublas/handle.h>
#include <tern/tests/simgpu/cublaslt/handle.h>

using simgpu::cublas::check;
using simgpu::cublas::handles;

namespace {

/// Sets or gets one field of a living handle.
template <class T>
cublasStatus_t set(cublasHandle_t handle, const char* call, T cublasContext::*field, T value) {
  const cublasStatus_t status = check(handle, call);
  if (status == CUBLAS_STATUS_SUCCESS) handle->*field = value;
  return status;
}

template <class T>
cublasStatus_t get(cublasHandle_t handle, const char* call, T cublasContext::*field, T* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasStatus_t status = check(handle, call);
  if (status == CUBLAS_STATUS_SUCCESS) *value = handle->*field;
  return status;
}

bool is_math_mode(cublasMath_t mode) {
  const int kind = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  return (kind >= CUBLAS_DEFAULT_MATH && kind <= CUBLAS_FP32_EMULATED_BF16X9_MATH) ||
         kind == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH;
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (simgpu::injected("cublas_create")) return CUBLAS_STATUS_ALLOC_FAILED;
  if (cudaFree(nullptr) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = handles().create();
  (*handle)->device = simgpu::current_device();
  cublasLtCtxInit(*handle, (*handle)->device);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (!handles().destroy(handle, "cublasDestroy")) return CUBLAS_STATUS_NOT_INITIALIZED;
  cublasLtShutdownCtx(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return handle ? check(handle, "cublasGetVersion") : CUBLAS_STATUS_SUCCESS;
}

/// The library goes back to its own workspace: whoever sets one must do so after the stream.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  const cublasStatus_t status = set(handle, "cublasSetStream", &cublasContext::stream, stream);
  if (status == CUBLAS_STATUS_SUCCESS) handle->workspace = nullptr, handle->workspace_bytes = 0;
  return status;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return get(handle, "cublasGetStream", &cublasContext::stream, stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  const char* call = "cublasSetWorkspace";
  const cublasStatus_t status = check(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes > 0 && workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes > 0 && simgpu::device_of(workspace) != handle->device) {
    simgpu::report_misuse(call, "the workspace is not memory of the handle's device");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  handle->workspace = bytes > 0 ? workspace : nullptr;
  handle->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
    return CUBLAS_STATUS_INVALID_VALUE;
  return set(handle, "cublasSetPointerMode", &cublasContext::pointer_mode, mode);
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return get(handle, "cublasGetPointerMode", &cublasContext::pointer_mode, mode);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return set(handle, "cublasSetAtomicsMode", &cublasContext::atomics_mode, mode);
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return get(handle, "cublasGetAtomicsMode", &cublasContext::atomics_mode, mode);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (!is_math_mode(mode)) return CUBLAS_STATUS_INVALID_VALUE;
  return set(handle, "cublasSetMathMode", &cublasContext::math_mode, mode);
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return get(handle, "cublasGetMathMode", &cublasContext::math_mode, mode);
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  return set(handle, "cublasSetSmCountTarget", &cublasContext::sm_count_target, count);
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return get(handle, "cublasGetSmCountTarget", &cublasContext::sm_count_target, count);
}
