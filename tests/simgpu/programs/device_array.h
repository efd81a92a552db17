// What the test programs of the simulated devices share: arrays on a device, and calls that must succeed.
#pragma once

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <vector>

inline void ok(cudaError_t error) { REQUIRE_MESSAGE(error == cudaSuccess, cudaGetErrorString(error)); }

/// Memory of the current device, freed at the end.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) { ok(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    ok(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* get() const { return data_; }
  size_t size() const { return count_; }

  std::vector<T> values() const {
    std::vector<T> result(count_);
    ok(cudaMemcpy(result.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

/// The launch before was right, and so is all that it did.
inline void finished() {
  ok(cudaGetLastError());
  ok(cudaDeviceSynchronize());
}
