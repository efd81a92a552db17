// __device__ and __constant__ variables, reached from the host by their names.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/modules.h>

using namespace simgpu;

namespace {

/// The bytes [offset, offset + bytes) of the variable on the current device.
cudaError_t part_of(const void* symbol, size_t offset, size_t bytes, void*& pointer) {
  uint64_t address = 0;
  size_t size = 0;
  const cudaError_t error = variable_address(symbol, current_device_number(), address, size);
  if (error != cudaSuccess) return error;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  pointer = reinterpret_cast<void*>(address + offset);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return api("cudaGetSymbolAddress", [&] { return part_of(symbol, 0, 0, *pointer); });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return api("cudaGetSymbolSize", [&] {
    uint64_t address = 0;
    return variable_address(symbol, current_device_number(), address, *bytes);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return api("cudaMemcpyToSymbol", [&] {
    void* to = nullptr;
    const cudaError_t error = part_of(symbol, offset, bytes, to);
    return error != cudaSuccess ? error : cudaMemcpy(to, from, bytes, kind);
  });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return api("cudaMemcpyFromSymbol", [&] {
    void* from = nullptr;
    const cudaError_t error = part_of(symbol, offset, bytes, from);
    return error != cudaSuccess ? error : cudaMemcpy(to, from, bytes, kind);
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyToSymbolAsync", [&] {
    void* to = nullptr;
    const cudaError_t error = part_of(symbol, offset, bytes, to);
    return error != cudaSuccess ? error : cudaMemcpyAsync(to, from, bytes, kind, stream);
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyFromSymbolAsync", [&] {
    void* from = nullptr;
    const cudaError_t error = part_of(symbol, offset, bytes, from);
    return error != cudaSuccess ? error : cudaMemcpyAsync(to, from, bytes, kind, stream);
  });
}

}  // extern "C"
