#include <tern/tests/simgpu/blas_status.h>
#include <tern/tests/simgpu/cublaslt/handle.h>

#include <map>

namespace simgpu::cublaslt {
namespace {

Handles<cublasLtContext>& handles() {
  static auto* all = new Handles<cublasLtContext>("cuBLASLt handle");
  return *all;
}

struct CublasHandles {
  std::mutex mutex;
  std::map<const void*, int> devices;
};

CublasHandles& cublas_handles() {
  static auto* all = new CublasHandles;
  return *all;
}

/// -1: the handle may not be used.
int device_of_handle(cublasLtHandle_t handle, const char* call) {
  CublasHandles& others = cublas_handles();
  {
    const std::lock_guard lock(others.mutex);
    const auto found = others.devices.find(handle);
    if (found != others.devices.end()) return found->second;
  }
  return handles().checked(handle, call) ? handle->device : -1;
}

}  // namespace

cublasStatus_t check(cublasLtHandle_t handle, const char* call, cudaStream_t stream) {
  const int device = device_of_handle(handle, call);
  if (device < 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int streams = stream ? device_of_stream(stream) : current_device();
  for (const auto& [what, found] : {std::pair("current", current_device()), std::pair("stream's", streams)}) {
    if (found == device) continue;
    report_misuse(call, "the handle belongs to device " + std::to_string(device) + ", but the " + what +
                            " device is " + std::to_string(found));
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace simgpu::cublaslt

using simgpu::cublaslt::cublas_handles;
using simgpu::cublaslt::handles;

void cublasLtCtxInit(const void* cublas_handle, int device) {
  const std::lock_guard lock(cublas_handles().mutex);
  cublas_handles().devices[cublas_handle] = device;
}

void cublasLtShutdownCtx(const void* cublas_handle) {
  const std::lock_guard lock(cublas_handles().mutex);
  cublas_handles().devices.erase(cublas_handle);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (simgpu::injected("cublaslt_create")) return CUBLAS_STATUS_ALLOC_FAILED;
  if (cudaFree(nullptr) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = handles().create();
  (*handle)->device = simgpu::current_device();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return handles().destroy(handle, "cublasLtDestroy") ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char* cublasLtGetStatusName(cublasStatus_t status) { return simgpu::status_name(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return simgpu::status_string(status); }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  return simgpu::property(type, value);
}
