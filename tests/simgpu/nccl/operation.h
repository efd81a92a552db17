// An operation's way through the stream: first it gives its bytes to the shared memory, then it waits for the
// others'.
#pragma once

#include <tern/tests/simgpu/nccl/communicator.h>

namespace simgpu::nccl {

/// A piece of stream work that must wait.
struct Stage {
  std::vector<Access> accesses;
  std::function<bool()> ready;
  std::function<void()> work;
};

/// Queues the stages one behind the other, behind what the communicator queued on other streams. While they
/// wait, other processes are looked after; once the communicator is aborted they are let through and do
/// nothing.
ncclResult_t queue(ncclComm_t comm, const char* call, cudaStream_t stream, std::vector<Stage> stages);

/// Arguments that every operation has: the communicator lives and is ready, its stream is of its device.
ncclResult_t check_operation(ncclComm_t comm, const char* call, cudaStream_t stream);

/// A thread that lets queued work have its turn while other processes wait for it and nobody synchronises
/// here.
void run_in_background(const std::shared_ptr<Communicator>& comm);

}  // namespace simgpu::nccl
