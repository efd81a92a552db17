#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/launches.h>
#include <tern/tests/simgpu/statistics.h>

#include <chrono>
#include <cstring>

namespace simgpu {
namespace {

bool fits(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const bool has_threads =
      threads > 0 && threads <= 1024 && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
  return has_threads && grid.x > 0 && grid.x <= 2147483647U && grid.y > 0 && grid.y <= 65535 && grid.z > 0 &&
         grid.z <= 65535;
}

}  // namespace

cudaError_t make_launch(KernelEntry& entry, int device, dim3 grid, dim3 block, void** arguments,
                        size_t shared, std::shared_ptr<Launch>& launch) {
  std::shared_ptr<const Kernel> kernel;
  if (const cudaError_t error = compiled_kernel(entry, device, kernel); error != cudaSuccess) return error;
  if (!fits(grid, block)) return cudaErrorInvalidConfiguration;
  if (uint64_t{block.x} * block.y * block.z > kernel->most_threads) return cudaErrorLaunchOutOfResources;
  const uint64_t limit = static_cast<uint64_t>(entry.most_dynamic_shared);
  if (kernel->shared_bytes > 48 * 1024 || shared + (shared > limit ? 0 : kernel->shared_bytes) > limit) {
    return cudaErrorInvalidValue;
  }
  launch = std::make_shared<Launch>();
  launch->grid = {grid.x, grid.y, grid.z};
  launch->block = {block.x, block.y, block.z};
  launch->dynamic_shared = static_cast<uint32_t>(shared);
  launch->device = device;
  launch->parameters.resize(kernel->parameter_bytes + 16);
  for (size_t index = 0; index < kernel->parameters.size(); ++index) {
    const KernelParameter& parameter = kernel->parameters[index];
    std::memcpy(&launch->parameters[parameter.offset], arguments[index], parameter.bytes);
    launch->arguments.push_back(&launch->parameters[parameter.offset]);
  }
  launch->function = &entry;
  launch->kernel = std::move(kernel);
  return cudaSuccess;
}

Work launch_work(std::shared_ptr<Launch> launch) {
  Work work{.name = launch->kernel->title, .device = launch->device, .kind = WorkKind::kernel};
  work.parameters = launch;
  work.run = [launch](Task& task) {
    const auto start = std::chrono::steady_clock::now();
    run_grid(*launch, task);
    count_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  return work;
}

}  // namespace simgpu
