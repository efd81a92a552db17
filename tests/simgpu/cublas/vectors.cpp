// Level 1 of the BLAS, in long double, each element rounded once.
#include <tern/tests/simgpu/cublas/vectors.h>

#include <cmath>

using namespace simgpu::cublas;
using simgpu::Access;

namespace {

bool is_float(cudaDataType type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F;
}

/// cublasAxpyEx and its kind compute in double for double, else in float, and take no other combination.
bool fits(cudaDataType type, cudaDataType execution) {
  return is_float(type) && execution == (type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F);
}

cublasStatus_t axpy(cublasHandle_t handle, const char* call, const void* alpha, cudaDataType alpha_type,
                    Vector x, Vector y) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS || x.count <= 0) return status;
  if (!alpha) return CUBLAS_STATUS_INVALID_VALUE;
  const Scalar factor(handle, alpha, alpha_type);
  std::vector<Access> accesses = {x.access(false), y.access(false), y.access(true)};
  factor.add_access(accesses);
  return launch(handle, call, accesses, [=] {
    const Vector from = x.on_host(), to = y.on_host();
    const long double by = factor.value();
    for (int64_t i = 0; i < from.count; ++i) to.set(i, by * from.get(i) + to.get(i));
  });
}

cublasStatus_t scale(cublasHandle_t handle, const char* call, const void* alpha, cudaDataType alpha_type,
                     Vector x) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS || x.count <= 0 || x.step <= 0) return status;
  if (!alpha) return CUBLAS_STATUS_INVALID_VALUE;
  const Scalar factor(handle, alpha, alpha_type);
  std::vector<Access> accesses = {x.access(false), x.access(true)};
  factor.add_access(accesses);
  return launch(handle, call, accesses, [=] {
    const Vector here = x.on_host();
    const long double by = factor.value();
    for (int64_t i = 0; i < here.count; ++i) here.set(i, by * here.get(i));
  });
}

cublasStatus_t dot(cublasHandle_t handle, const char* call, Vector x, Vector y, void* result,
                   cudaDataType type) {
  return answer(handle, call, {x.access(false), y.access(false)}, result, type, [=] {
    const Vector left = x.on_host(), right = y.on_host();
    long double sum = 0;
    for (int64_t i = 0; i < left.count; ++i) sum += left.get(i) * right.get(i);
    return sum;
  });
}

cublasStatus_t norm(cublasHandle_t handle, const char* call, Vector x, void* result, cudaDataType type) {
  if (x.step <= 0) x.count = 0;
  return answer(handle, call, {x.access(false)}, result, type, [=] {
    const Vector here = x.on_host();
    long double sum = 0;
    for (int64_t i = 0; i < here.count; ++i) sum += here.get(i) * here.get(i);
    return std::sqrt(sum);
  });
}

cublasStatus_t absolute_sum(cublasHandle_t handle, const char* call, Vector x, void* result,
                            cudaDataType type) {
  if (x.step <= 0) x.count = 0;
  return answer(handle, call, {x.access(false)}, result, type, [=] {
    const Vector here = x.on_host();
    long double sum = 0;
    for (int64_t i = 0; i < here.count; ++i) sum += std::abs(here.get(i));
    return sum;
  });
}

cublasStatus_t copy(cublasHandle_t handle, const char* call, Vector x, Vector y) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS || x.count <= 0) return status;
  return launch(handle, call, {x.access(false), y.access(true)}, [=] {
    const Vector from = x.on_host(), to = y.on_host();
    for (int64_t i = 0; i < from.count; ++i) to.set(i, from.get(i));
  });
}

}  // namespace

namespace simgpu::cublas {

cublasStatus_t answer(cublasHandle_t handle, const char* call, std::vector<Access> accesses, void* result,
                      cudaDataType type, std::function<long double()> compute) {
  const cublasStatus_t status = check_computing(handle, call);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (!result) return CUBLAS_STATUS_INVALID_VALUE;
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  if (!on_device && device_of(result) >= 0) {
    report_misuse(call, "the result lies in device memory, but the pointer mode is host");
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (on_device) accesses.push_back({result, size_of(type), true});
  const auto work = [=] { store(on_device ? host(result) : result, type, 0, compute()); };
  const cublasStatus_t launched = launch(handle, call, std::move(accesses), work);
  if (on_device || launched != CUBLAS_STATUS_SUCCESS) return launched;
  return cudaStreamSynchronize(handle->stream) == cudaSuccess ? launched : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace simgpu::cublas

#define SIMGPU_VECTORS(T, TYPE, L)                                                                        \
  cublasStatus_t cublas##L##axpy_v2(cublasHandle_t handle, int n, const T* alpha, const T* x, int step_x, \
                                    T* y, int step_y) {                                                   \
    return axpy(handle, "cublas" #L "axpy", alpha, TYPE, {x, TYPE, n, step_x}, {y, TYPE, n, step_y});     \
  }                                                                                                       \
  cublasStatus_t cublas##L##scal_v2(cublasHandle_t handle, int n, const T* alpha, T* x, int step) {       \
    return scale(handle, "cublas" #L "scal", alpha, TYPE, {x, TYPE, n, step});                            \
  }                                                                                                       \
  cublasStatus_t cublas##L##dot_v2(cublasHandle_t handle, int n, const T* x, int step_x, const T* y,      \
                                   int step_y, T* result) {                                               \
    return dot(handle, "cublas" #L "dot", {x, TYPE, n, step_x}, {y, TYPE, n, step_y}, result, TYPE);      \
  }                                                                                                       \
  cublasStatus_t cublas##L##nrm2_v2(cublasHandle_t handle, int n, const T* x, int step, T* result) {      \
    return norm(handle, "cublas" #L "nrm2", {x, TYPE, n, step}, result, TYPE);                            \
  }                                                                                                       \
  cublasStatus_t cublas##L##asum_v2(cublasHandle_t handle, int n, const T* x, int step, T* result) {      \
    return absolute_sum(handle, "cublas" #L "asum", {x, TYPE, n, step}, result, TYPE);                    \
  }                                                                                                       \
  cublasStatus_t cublas##L##copy_v2(cublasHandle_t handle, int n, const T* x, int step_x, T* y,           \
                                    int step_y) {                                                         \
    return copy(handle, "cublas" #L "copy", {x, TYPE, n, step_x}, {y, TYPE, n, step_y});                  \
  }

SIMGPU_VECTORS(float, CUDA_R_32F, S)
SIMGPU_VECTORS(double, CUDA_R_64F, D)

cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType alpha_type,
                            const void* x, cudaDataType type_x, int step_x, void* y, cudaDataType type_y,
                            int step_y, cudaDataType execution) {
  if (!fits(type_x, execution) || type_x != type_y || !is_float(alpha_type))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return axpy(handle, "cublasAxpyEx", alpha, alpha_type, {x, type_x, n, step_x}, {y, type_y, n, step_y});
}

cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType alpha_type, void* x,
                            cudaDataType type, int step, cudaDataType execution) {
  if (!fits(type, execution) || !is_float(alpha_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return scale(handle, "cublasScalEx", alpha, alpha_type, {x, type, n, step});
}

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int step_x,
                           const void* y, cudaDataType type_y, int step_y, void* result, cudaDataType type,
                           cudaDataType execution) {
  if (!fits(type_x, execution) || type_x != type_y || type != type_x) return CUBLAS_STATUS_NOT_SUPPORTED;
  return dot(handle, "cublasDotEx", {x, type_x, n, step_x}, {y, type_y, n, step_y}, result, type);
}

cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int step,
                            void* result, cudaDataType type, cudaDataType execution) {
  if (!fits(type_x, execution) || type != type_x) return CUBLAS_STATUS_NOT_SUPPORTED;
  return norm(handle, "cublasNrm2Ex", {x, type_x, n, step}, result, type);
}
