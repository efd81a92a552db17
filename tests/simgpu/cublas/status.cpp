#include <tern/tests/simgpu/blas_status.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

const char* cublasGetStatusName(cublasStatus_t status) { return simgpu::status_name(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return simgpu::status_string(status); }
size_t cublasGetCudartVersion() { return CUDART_VERSION; }
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  return simgpu::property(type, value);
}
