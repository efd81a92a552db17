// Devices: which there are, what they can do, which is current, which are peers.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/capture.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>
#include <tern/tests/simgpu/streams.h>

#include <cstdio>
#include <cstring>

using namespace simgpu;

namespace {

bool is_device(int device) { return device >= 0 && device < device_count(); }

int attribute(cudaDeviceAttr which) {
  int value = 0;
  attribute_of_device(&value, which);
  return value;
}

void describe_limits(cudaDeviceProp& result) {
  result.sharedMemPerBlock = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  result.sharedMemPerBlockOptin = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  result.sharedMemPerMultiprocessor =
      static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  result.reservedSharedMemPerBlock = static_cast<size_t>(attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  result.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
  result.regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  result.warpSize = 32;
  result.memPitch = static_cast<size_t>(attribute(cudaDevAttrMaxPitch));
  result.maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
  result.maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  result.maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  result.multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  const cudaDeviceAttr block[] = {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ};
  const cudaDeviceAttr grid[] = {cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ};
  for (int axis = 0; axis < 3; ++axis) {
    result.maxThreadsDim[axis] = attribute(block[axis]);
    result.maxGridSize[axis] = attribute(grid[axis]);
  }
}

void describe(cudaDeviceProp& result, int device) {
  std::memset(&result, 0, sizeof result);
  const int physical = settings().devices[static_cast<size_t>(device)];
  std::snprintf(result.name, sizeof result.name, "Simulated GPU %d", physical);
  result.uuid.bytes[0] = static_cast<char>(physical + 1);
  result.totalGlobalMem = settings().memory;
  result.totalConstMem = static_cast<size_t>(attribute(cudaDevAttrTotalConstantMemory));
  result.major = settings().capability / 10;
  result.minor = settings().capability % 10;
  result.textureAlignment = static_cast<size_t>(attribute(cudaDevAttrTextureAlignment));
  result.pciBusID = physical + 1;
  result.memoryBusWidth = attribute(cudaDevAttrGlobalMemoryBusWidth);
  result.l2CacheSize = attribute(cudaDevAttrL2CacheSize);
  result.asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
  result.concurrentKernels = result.unifiedAddressing = result.canMapHostMemory = 1;
  result.streamPrioritiesSupported = result.memoryPoolsSupported = result.hostRegisterSupported = 1;
  result.ECCEnabled = result.globalL1CacheSupported = result.localL1CacheSupported = 1;
  describe_limits(result);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return question("cudaGetDeviceCount", [&] {
    *count = device_count();
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return question("cudaGetDevice", [&] {
    *device = current_device_number();
    return device_count() == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return question("cudaSetDevice", [&] {
    if (device_count() == 0) return cudaErrorNoDevice;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    set_current_device(device);
    return device_number(device).error;
  });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return question("cudaInitDevice", [&] { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceSynchronize() {
  return api("cudaDeviceSynchronize", [&] {
    if (capture_forbids(nullptr)) return cudaErrorStreamCaptureUnsupported;
    return synchronize_device(current_device_number());
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* result, int device) {
  return question("cudaGetDeviceProperties", [&] {
    if (result == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    describe(*result, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return question("cudaDeviceGetAttribute", [&] {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    if (which == cudaDevAttrPciBusId) {
      *value = settings().devices[static_cast<size_t>(device)] + 1;
      return cudaSuccess;
    }
    return attribute_of_device(value, which);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return question("cudaDeviceGetPCIBusId", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0",
                  settings().devices[static_cast<size_t>(device)] + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return question("cudaDeviceCanAccessPeer", [&] {
    if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
    *can = device != peer;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int device, int peer) {
  return question("cudaDeviceGetP2PAttribute", [&] {
    if (!is_device(device) || !is_device(peer) || device == peer) return cudaErrorInvalidDevice;
    *value =
        which == cudaDevP2PAttrCudaArrayAccessSupported || which == cudaDevP2PAttrPerformanceRank ? 0 : 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api("cudaDeviceEnablePeerAccess", [&] {
    if (flags != 0) return cudaErrorInvalidValue;
    if (!is_device(peer) || peer == current_device_number()) return cudaErrorInvalidDevice;
    const bool is_new = device_number(current_device_number()).peers.insert(peer).second;
    return is_new ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api("cudaDeviceDisablePeerAccess", [&] {
    if (!is_device(peer)) return cudaErrorInvalidDevice;
    const bool was_enabled = device_number(current_device_number()).peers.erase(peer) == 1;
    return was_enabled ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return question("cudaDeviceGetStreamPriorityRange", [&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api("cudaDeviceSetLimit", [&] {
    auto& limits = device_number(current_device_number()).limits;
    if (static_cast<size_t>(limit) >= limits.size()) return cudaErrorUnsupportedLimit;
    limits[static_cast<size_t>(limit)] = value;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return question("cudaDeviceGetLimit", [&] {
    const auto& limits = device_number(current_device_number()).limits;
    if (static_cast<size_t>(limit) >= limits.size()) return cudaErrorUnsupportedLimit;
    *value = limits[static_cast<size_t>(limit)];
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return api("cudaSetDeviceFlags", [&] {
    device_number(current_device_number()).flags = flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return question("cudaGetDeviceFlags", [&] {
    *flags = device_number(current_device_number()).flags;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return question("cudaRuntimeGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return question("cudaDriverGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  return api("cudaMemGetInfo", [&] {
    *total = settings().memory;
    *free_bytes = *total - used_memory(current_device_number());
    return cudaSuccess;
  });
}

}  // extern "C"
