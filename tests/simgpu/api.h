// The frame of each function of the CUDA interface: the lock, failures on demand, the device's lasting error
// and the thread's last error.
#pragma once

#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/injection.h>
#include <tern/tests/simgpu/world.h>

namespace simgpu {

/// Keeps an error for cudaGetLastError, and returns it.
cudaError_t remember(cudaError_t error);

/// The thread's last error; `forget` leaves success behind.
cudaError_t last_error(bool forget);

/// What an injected failure of the call answers.
cudaError_t injected_error(const char* name);

/// Runs the body of the function called `name`, unless the call shall fail or the current device has failed
/// before.
template <class Body>
cudaError_t api(const char* name, Body body) {
  const Locked lock;
  if (injected(name)) return remember(injected_error(name));
  if (device_count() == 0) return remember(cudaErrorNoDevice);
  const cudaError_t error = device_number(current_device_number()).error;
  return remember(error != cudaSuccess ? error : body());
}

/// For questions that a device which has failed answers all the same.
template <class Body>
cudaError_t question(const char* name, Body body) {
  const Locked lock;
  return remember(injected(name) ? injected_error(name) : body());
}

}  // namespace simgpu
