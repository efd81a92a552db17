#include <tern/tests/simgpu/cublas/handle.h>

namespace simgpu::cublas {

Handles<cublasContext>& handles() {
  static auto* all = new Handles<cublasContext>("cuBLAS handle");
  return *all;
}

cublasStatus_t check(cublasHandle_t handle, const char* call) {
  return handles().checked(handle, call) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t check_computing(cublasHandle_t handle, const char* call) {
  if (!handles().checked(handle, call)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto of_device = [&](const char* what, int device) {
    report_misuse(call, "the handle belongs to device " + std::to_string(handle->device) + ", but " + what +
                            " device is " + std::to_string(device));
    return CUBLAS_STATUS_EXECUTION_FAILED;
  };
  if (current_device() != handle->device) return of_device("the current", current_device());
  const int streams = handle->stream ? device_of_stream(handle->stream) : handle->device;
  if (streams != handle->device) return of_device("its stream's", streams);
  return injected("cublas") ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

Scalar::Scalar(cublasHandle_t handle, const void* pointer, cudaDataType type)
    : pointer_(pointer), type_(type), on_device_(handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
  if (on_device_ || pointer == nullptr) return;
  if (device_of(pointer) >= 0) {
    report_misuse("cublas", "alpha, beta or a result lies in device memory, but the pointer mode is host");
  } else {
    value_ = load(pointer, type, 0);
  }
}

void Scalar::add_access(std::vector<Access>& accesses) const {
  if (on_device_) accesses.push_back({pointer_, size_of(type_), false});
}

long double Scalar::value() const { return on_device_ ? load(host(pointer_), type_, 0) : value_; }

cublasStatus_t launch(cublasHandle_t handle, const char* call, std::vector<Access> accesses,
                      std::function<void()> work, size_t workspace_bytes) {
  const size_t used = handle->workspace ? std::min(workspace_bytes, handle->workspace_bytes) : 0;
  if (used > 0) accesses.push_back({handle->workspace, used, true});
  const cudaError_t error = enqueue(handle->stream, call, std::move(accesses), std::move(work));
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace simgpu::cublas
