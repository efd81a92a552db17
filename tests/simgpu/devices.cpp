#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>

#include <map>

namespace simgpu {
namespace {

thread_local int current = 0;

std::vector<Device>& devices() {
  static std::vector<Device>& result = *new std::vector<Device>(settings().devices.size());
  return result;
}

/// What a device of the kind would answer, as far as programs ask for it.
std::map<cudaDeviceAttr, int> make_attributes() {
  const int capability = settings().capability;
  const int shared = (capability == 80 ? 164 : 228) * 1024;
  return {
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMaxBlockDimX, 1024},
      {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64},
      {cudaDevAttrMaxGridDimX, 2147483647},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, shared - 1024},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, shared},
      {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
      {cudaDevAttrTotalConstantMemory, 64 * 1024},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxRegistersPerBlock, 65536},
      {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
      {cudaDevAttrMultiProcessorCount, 4},
      {cudaDevAttrClockRate, 1000000},
      {cudaDevAttrMemoryClockRate, 1000000},
      {cudaDevAttrGlobalMemoryBusWidth, 5120},
      {cudaDevAttrL2CacheSize, 40 * 1024 * 1024},
      {cudaDevAttrTextureAlignment, 512},
      {cudaDevAttrMaxPitch, 2147483647},
      {cudaDevAttrComputeCapabilityMajor, capability / 10},
      {cudaDevAttrComputeCapabilityMinor, capability % 10},
      {cudaDevAttrGpuOverlap, 1},
      {cudaDevAttrAsyncEngineCount, 3},
      {cudaDevAttrConcurrentKernels, 1},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrHostRegisterSupported, 1},
      {cudaDevAttrMemoryPoolsSupported, 1},
      {cudaDevAttrStreamPrioritiesSupported, 1},
      {cudaDevAttrGlobalL1CacheSupported, 1},
      {cudaDevAttrLocalL1CacheSupported, 1},
      {cudaDevAttrManagedMemory, 0},
      {cudaDevAttrConcurrentManagedAccess, 0},
      {cudaDevAttrPageableMemoryAccess, 0},
      {cudaDevAttrCooperativeLaunch, 0},
      {cudaDevAttrComputeMode, 0},
      {cudaDevAttrIntegrated, 0},
      {cudaDevAttrEccEnabled, 1},
      {cudaDevAttrKernelExecTimeout, 0},
      {cudaDevAttrTccDriver, 0},
      {cudaDevAttrComputePreemptionSupported, 1},
      {cudaDevAttrGPUDirectRDMASupported, 0},
      {cudaDevAttrIsMultiGpuBoard, 0},
      {cudaDevAttrPciDomainId, 0},
      {cudaDevAttrPciDeviceId, 0},
      {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
      {cudaDevAttrClusterLaunch, 0},
  };
}

}  // namespace

int device_count() { return static_cast<int>(settings().devices.size()); }

Device& device_number(int device) { return devices()[static_cast<size_t>(device)]; }

int current_device_number() { return current; }

void set_current_device(int device) { current = device; }

bool may_access(int device, int other) {
  return device == other || device_number(device).peers.contains(other);
}

cudaError_t attribute_of_device(int* value, cudaDeviceAttr attribute) {
  static const std::map<cudaDeviceAttr, int> attributes = make_attributes();
  const auto found = attributes.find(attribute);
  if (found == attributes.end())
    give_up(format("device attribute %d is not simulated", static_cast<int>(attribute)));
  *value = found->second;
  return cudaSuccess;
}

}  // namespace simgpu
