// Device memory, pinned host memory, and what a pointer is.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/access.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/races.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/streams.h>

#include <cstdlib>
#include <cstring>

using namespace simgpu;

namespace {

uint64_t number_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

cudaError_t allocate_for(void** pointer, size_t bytes, const char* call) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const uint64_t address = allocate(current_device_number(), bytes, call);
  if (address == 0) return cudaErrorMemoryAllocation;
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

/// The live allocation that begins at the pointer; otherwise a report and null.
Allocation* to_free(void* pointer, const char* call) {
  Allocation* found = find_allocation(number_of(pointer));
  const bool is_start = found != nullptr && found->address == number_of(pointer);
  if (is_start && found->live) return found;
  report(format("%s of 0x%llx, which is %s: %s", call, static_cast<unsigned long long>(number_of(pointer)),
                is_start ? "freed already" : "not the start of an allocation",
                describe_address(number_of(pointer)).c_str()));
  return nullptr;
}

cudaError_t allocate_pinned(void** pointer, size_t bytes, const char* call) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  constexpr size_t page = 4096;
  *pointer = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (*pointer == nullptr) return cudaErrorMemoryAllocation;
  pin(*pointer, bytes, call);
  return cudaSuccess;
}

/// Real freeing waits for the device.
cudaError_t free_now(Allocation& allocation) {
  const cudaError_t error = synchronize_device(allocation.device);
  release(allocation);
  return error;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return api("cudaMalloc", [&] {
    if (capture_forbids(nullptr)) return cudaErrorStreamCaptureUnsupported;
    return allocate_for(pointer, bytes, "cudaMalloc");
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return api("cudaMallocPitch", [&] {
    *pitch = (width + 511) / 512 * 512;
    return allocate_for(pointer, *pitch * height, "cudaMallocPitch");
  });
}

cudaError_t cudaFree(void* pointer) {
  return api("cudaFree", [&] {
    if (pointer == nullptr) return cudaSuccess;
    if (capture_forbids(nullptr)) return cudaErrorStreamCaptureUnsupported;
    Allocation* found = to_free(pointer, "cudaFree");
    if (found == nullptr || found->device < 0) return cudaErrorInvalidValue;
    return free_now(*found);
  });
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t handle) {
  return api("cudaMallocAsync", [&] {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) give_up("cudaMallocAsync during a capture is not simulated");
    const cudaError_t error = allocate_for(pointer, bytes, "cudaMallocAsync");
    if (error != cudaSuccess || bytes == 0) return error;
    Allocation* made = find_live(number_of(*pointer));
    made->pooled = true;
    Work work{.name = "cudaMallocAsync", .device = stream->device, .kind = WorkKind::allocate};
    // A use on another stream that does not wait for this one is a race.
    work.run = [address = made->address, bytes](Task& task) {
      if (Footprint* footprint = footprint_of(task)) footprint->mark_range(address, bytes, Touch::write);
    };
    enqueue_work(*stream, std::move(work));
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return api("cudaFreeAsync", [&] {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (pointer == nullptr) return cudaSuccess;
    if (stream->capture != nullptr) give_up("cudaFreeAsync during a capture is not simulated");
    Allocation* found = to_free(pointer, "cudaFreeAsync");
    if (found == nullptr || found->device < 0) return cudaErrorInvalidValue;
    Work work{.name = "cudaFreeAsync", .device = stream->device, .kind = WorkKind::release};
    work.run = [address = found->address](Task& task) {
      Allocation* dead = find_allocation(address);
      if (!dead->live) throw Fault(cudaErrorInvalidValue, "cudaFreeAsync of " + describe_address(address));
      if (Footprint* footprint = footprint_of(task))
        footprint->mark_range(address, dead->bytes, Touch::write);
      release(*dead);
    };
    enqueue_work(*stream, std::move(work));
    return cudaSuccess;
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return api("cudaMallocHost", [&] { return allocate_pinned(pointer, bytes, "cudaMallocHost"); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return api("cudaHostAlloc", [&] { return allocate_pinned(pointer, bytes, "cudaHostAlloc"); });
}

cudaError_t cudaFreeHost(void* pointer) {
  return api("cudaFreeHost", [&] {
    if (pointer == nullptr) return cudaSuccess;
    Allocation* found = to_free(pointer, "cudaFreeHost");
    if (found == nullptr || found->device >= 0 || found->registered) return cudaErrorInvalidValue;
    for (int device = 0; device < device_count(); ++device) synchronize_device(device);
    release(*found);
    std::free(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return api("cudaHostRegister", [&] {
    if (pointer == nullptr || bytes == 0 || !is_host(pointer)) return cudaErrorInvalidValue;
    if (find_live(number_of(pointer)) != nullptr) return cudaErrorHostMemoryAlreadyRegistered;
    pin(pointer, bytes, "cudaHostRegister");
    find_live(number_of(pointer))->registered = true;
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return api("cudaHostUnregister", [&] {
    Allocation* found = find_live(number_of(pointer));
    if (found == nullptr || !found->registered) return cudaErrorHostMemoryNotRegistered;
    release(*found);
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned) {
  return api("cudaHostGetDevicePointer", [&] {
    if (!is_host(pointer) || find_live(number_of(pointer)) == nullptr) return cudaErrorInvalidValue;
    *device_pointer = pointer;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* result, const void* pointer) {
  return question("cudaPointerGetAttributes", [&] {
    std::memset(result, 0, sizeof *result);
    const Allocation* found = find_live(number_of(pointer));
    result->type = cudaMemoryTypeUnregistered;
    result->device = cudaInvalidDeviceId;
    if (found == nullptr) return cudaSuccess;
    result->type = found->device < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    result->device = found->device < 0 ? current_device_number() : found->device;
    result->devicePointer = const_cast<void*>(pointer);
    if (found->device < 0) result->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

// A device has one pool, which gives all memory back at once.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return api("cudaDeviceGetDefaultMemPool", [&] {
    if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
    *pool = reinterpret_cast<cudaMemPool_t>(&device_number(device));
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr which, void*) {
  return api("cudaMemPoolSetAttribute",
             [&] { return which == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  return api("cudaMemPoolTrimTo", [] { return cudaSuccess; });
}

}  // extern "C"
