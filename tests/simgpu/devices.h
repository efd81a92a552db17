// The simulated devices and what belongs to each; the thread's current device. All functions want the lock of
// world.h.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <set>
#include <vector>

namespace simgpu {

struct Stream;

struct Device {
  cudaError_t error = cudaSuccess;  // once set, it stays: every call answers it
  std::set<int> peers;              // whose memory its kernels may use
  Stream* legacy = nullptr;         // the default stream, made at first use
  unsigned flags = 0;
  std::array<size_t, 16> limits{};  // cudaDeviceSetLimit
};

int device_count();
Device& device_number(int device);

/// The thread's current device.
int current_device_number();
void set_current_device(int device);

/// Whether work of the device may touch memory of the other.
bool may_access(int device, int other);

cudaError_t attribute_of_device(int* value, cudaDeviceAttr attribute);

}  // namespace simgpu
