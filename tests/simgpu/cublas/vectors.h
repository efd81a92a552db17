// Vectors and matrices for the functions of cuBLAS that are no products of matrices.
#pragma once

#include <tern/tests/simgpu/cublas/handle.h>

namespace simgpu::cublas {

/// `count` elements, `step` apart. A negative step walks from the end, as in the BLAS.
struct Vector {
  const void* data;
  cudaDataType type;
  int64_t count, step;

  Access access(bool writes) const {
    const size_t size = size_of(type);
    const auto apart = static_cast<size_t>(step < 0 ? -step : step);
    const auto elements = static_cast<size_t>(count > 0 ? count : 0);
    if (apart == 1) return {data, elements * size, writes};
    return {data, size, writes, apart == 0 ? 1 : elements, apart * size};
  }
  int64_t place(int64_t i) const { return step < 0 ? (i - count + 1) * step : i * step; }
  Vector on_host() const { return {host(data), type, count, step}; }
  long double get(int64_t i) const { return load(data, type, place(i)); }
  void set(int64_t i, long double value) const { store(const_cast<void*>(data), type, place(i), value); }
};

/// Where a function leaves its one number: in host memory, for which the call waits, or in device memory.
cublasStatus_t answer(cublasHandle_t handle, const char* call, std::vector<Access> accesses, void* result,
                      cudaDataType type, std::function<long double()> compute);

}  // namespace simgpu::cublas
