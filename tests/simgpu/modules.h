// The device code that the process has registered: kernels by the host's stubs, variables by their host
// shadows. A module's PTX is read at its first use; its variables lie in each device's memory. All functions
// want the lock of world.h.
#pragma once

#include <tern/tests/simgpu/ptx_compile.h>

#include <cuda_runtime_api.h>

namespace simgpu {

struct Module {
  const void* fat_binary = nullptr;
  bool was_read = false;
  int architecture = 0;  // of the PTX; 0: there is none for the simulated capability
  PtxModule ptx;
  std::map<int, GlobalAddresses> globals;  // of each device
};

struct KernelEntry {
  Module* module = nullptr;
  std::string name;
  std::map<int, std::shared_ptr<const Kernel>> compiled;  // for each device, whose variables lie elsewhere
  int most_dynamic_shared = 48 * 1024;
};

struct VariableEntry {
  Module* module = nullptr;
  std::string name;
  size_t bytes = 0;
};

Module* register_module(const void* fat_binary);
void register_kernel(Module* module, const void* host_function, const char* name);
void register_variable(Module* module, const void* host_variable, const char* name, size_t bytes);

/// Null where none is registered.
KernelEntry* find_kernel(const void* host_function);

/// The kernel of a stub or of a handle of __cudaGetKernel; null if it is neither.
KernelEntry* kernel_of_handle(const void* handle);

/// The kernel, decoded for the device; PTX that is not understood is reported and ends the process.
cudaError_t compiled_kernel(KernelEntry& entry, int device, std::shared_ptr<const Kernel>& kernel);

/// Address and size of the variable on the device.
cudaError_t variable_address(const void* host_variable, int device, uint64_t& address, size_t& bytes);

}  // namespace simgpu
