// From a call that launches a kernel to work on a stream. All functions want the lock of world.h.
#pragma once

#include <tern/tests/simgpu/grid.h>
#include <tern/tests/simgpu/modules.h>
#include <tern/tests/simgpu/streams.h>

namespace simgpu {

/// The launch that the arguments describe: copies of the parameters, all limits checked.
cudaError_t make_launch(KernelEntry& entry, int device, dim3 grid, dim3 block, void** arguments,
                        size_t shared, std::shared_ptr<Launch>& launch);

Work launch_work(std::shared_ptr<Launch> launch);

}  // namespace simgpu
