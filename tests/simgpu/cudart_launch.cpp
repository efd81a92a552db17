// Launches, what nvcc's generated code registers, and questions about kernels.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/launches.h>
#include <tern/tests/simgpu/report.h>

#include <algorithm>
#include <cstring>

using namespace simgpu;

namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};

thread_local std::vector<Configuration> configurations;

cudaError_t launch(KernelEntry* entry, const Configuration& configuration, void** arguments) {
  if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
  Stream* stream = find_stream(configuration.stream);
  if (stream == nullptr || stream->device != current_device_number()) return cudaErrorInvalidResourceHandle;
  if (capture_forbids_legacy(*stream)) return cudaErrorStreamCaptureImplicit;
  std::shared_ptr<Launch> made;
  const cudaError_t error = make_launch(*entry, stream->device, configuration.grid, configuration.block,
                                        arguments, configuration.shared, made);
  if (error == cudaSuccess) enqueue_work(*stream, launch_work(std::move(made)));
  return error;
}

template <class Body>
cudaError_t with_kernel(const char* name, const void* function, Body body) {
  return api(name, [&] {
    KernelEntry* entry = kernel_of_handle(function);
    if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
    std::shared_ptr<const Kernel> kernel;
    const cudaError_t error = compiled_kernel(*entry, current_device_number(), kernel);
    return error != cudaSuccess ? error : body(*entry, *kernel);
  });
}

int device_attribute(cudaDeviceAttr which) {
  int value = 0;
  attribute_of_device(&value, which);
  return value;
}

int most_blocks(const Kernel& kernel, int threads, size_t shared) {
  const size_t used = kernel.shared_bytes + shared + 1024;
  const auto total = static_cast<size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  const int by_threads = 2048 / ((threads + 31) / 32 * 32);
  return std::min({32, by_threads, static_cast<int>(total / used)});
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* fat_binary) {
  const Locked lock;
  return reinterpret_cast<void**>(register_module(fat_binary));
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** module, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const Locked lock;
  register_kernel(reinterpret_cast<Module*>(module), host_function, name);
}

void __cudaRegisterVar(void** module, char* host_variable, char*, const char* name, int, size_t bytes, int,
                       int) {
  const Locked lock;
  register_variable(reinterpret_cast<Module*>(module), host_variable, name, bytes);
}

void __cudaRegisterManagedVar(void**, void**, char*, const char* name, int, size_t, int, int) {
  give_up(std::string("the __managed__ variable ") + name + ": managed memory is not simulated");
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  const Locked lock;
  *kernel = reinterpret_cast<cudaKernel_t>(find_kernel(function));
  return *kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return api("cudaLaunchKernel", [&] {
    return launch(kernel_of_handle(kernel), {grid, block, shared, stream}, arguments);
  });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return api("cudaLaunchKernel", [&] {
    return launch(kernel_of_handle(function), {grid, block, shared, stream}, arguments);
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return api("cudaLaunchKernelExC", [&] {
    for (unsigned index = 0; index < config->numAttrs; ++index) {
      const auto id = config->attrs[index].id;
      // The start of a dependent launch may be early, but need not be.
      if (id != cudaLaunchAttributeProgrammaticStreamSerialization && id != cudaLaunchAttributePriority) {
        give_up(format("launch attribute %d is not simulated", static_cast<int>(id)));
      }
    }
    return launch(kernel_of_handle(function),
                  {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream}, arguments);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* result, const void* function) {
  return with_kernel("cudaFuncGetAttributes", function, [&](KernelEntry& entry, const Kernel& kernel) {
    std::memset(result, 0, sizeof *result);
    result->ptxVersion = result->binaryVersion = entry.module->architecture;
    result->maxThreadsPerBlock = static_cast<int>(kernel.most_threads);
    result->numRegs = 32;
    result->sharedSizeBytes = kernel.shared_bytes;
    result->localSizeBytes = kernel.local_bytes;
    result->maxDynamicSharedSizeBytes = entry.most_dynamic_shared - static_cast<int>(kernel.shared_bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
  return with_kernel("cudaFuncSetAttribute", function, [&](KernelEntry& entry, const Kernel& kernel) {
    if (which == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
    const int limit = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const int total = value + static_cast<int>(kernel.shared_bytes);
    if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || total > limit) {
      return cudaErrorInvalidValue;
    }
    entry.most_dynamic_shared = std::max(total, 48 * 1024);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_kernel("cudaFuncSetCacheConfig", function,
                     [](KernelEntry&, const Kernel&) { return cudaSuccess; });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, const void* function,
                                                                   int threads, size_t shared, unsigned) {
  return with_kernel("cudaOccupancyMaxActiveBlocksPerMultiprocessor", function,
                     [&](KernelEntry&, const Kernel& kernel) {
                       if (threads < 1) return cudaErrorInvalidValue;
                       const bool can_run = threads <= static_cast<int>(kernel.most_threads);
                       *count = can_run ? most_blocks(kernel, threads, shared) : 0;
                       return cudaSuccess;
                     });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, const void* function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, threads, shared, 0);
}

}  // extern "C"
