// What the stand-ins of CUDA's other libraries (cuBLAS, cuDNN, NCCL) need of the simulated devices. Exported
// by the stand-in libcudart.so.13 beside CUDA's own functions; tests/simgpu/README.md tells how it all hangs
// together. Any thread may call these functions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simgpu {

/// Memory that a piece of work reads or writes: `count` pieces of `bytes`, `pitch` bytes apart.
struct Access {
  const void* address;
  size_t bytes;
  bool writes;
  size_t count = 1;
  size_t pitch = 0;
};

/// Queues `work` on `stream` like a kernel called `name`. When its turn comes, every access is checked
/// (within a live allocation of the stream's device or of a peer, what is read initialised; or pinned host
/// memory), what is written becomes initialised, and `work` runs on the host, with no lock held. A fault is
/// reported and stays the device's error. The work may run more than once: a stream that is being captured
/// keeps it for each launch of the graph.
cudaError_t enqueue(cudaStream_t stream, std::string name, std::vector<Access> accesses,
                    std::function<void()> work);

/// The same for work that others must be ready for, on other streams, in other threads or processes: a
/// collective, say. At the head of its stream `ready` is asked again and again until it answers true; then
/// all goes on as above. Meanwhile other streams run, on every device, also those that nobody waits for. The
/// core's lock is held while `ready` runs: it must be quick and call nothing of CUDA's or of this header.
cudaError_t enqueue_waiting(cudaStream_t stream, std::string name, std::vector<Access> accesses,
                            std::function<bool()> ready, std::function<void()> work);

/// Runs one piece of queued work of any stream, if one may run: for a library's helper thread, so that work
/// which other processes wait for gets its turn though nobody here synchronises.
void run_something();

/// Whether work that is queued on the stream goes into a graph. The stream may be the current device's
/// default one.
bool is_captured(cudaStream_t stream);

/// Inside of `work`: checks further memory as `enqueue` does, whose addresses only device memory holds
/// (arrays of pointers). Throws at a fault, which ends the work.
void check_accesses(const std::vector<Access>& accesses);

void* host_address(const void* device_pointer);

/// Where the bytes of simulated memory lie in this process; meaningful inside of `work` only. A pointer that
/// is no simulated memory comes back as it is.
template <class T>
T* host(T* device_pointer) {
  return static_cast<T*>(host_address(device_pointer));
}

/// Prints a wrong use of a library as the reports of kernels are printed; like these it fails the process at
/// exit.
void report_misuse(const char* call, const std::string& what);

/// Counts this call of `kind` and answers whether SIMGPU_FAIL wants it to fail.
bool injected(const char* kind);

/// Of the current device: 80, 90 or 100.
int compute_capability();

int current_device();

/// The device that holds the memory; -1 for memory that is no device's.
int device_of(const void* pointer);

/// The device of a stream; -1 for no stream.
int device_of_stream(cudaStream_t stream);

/// When the process ends and `live()` is not 0, that many of `kind` are reported as leaked.
void at_exit_check(const char* kind, std::function<int64_t()> live);

}  // namespace simgpu
