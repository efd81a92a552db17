#include <tern/tests/simgpu/access.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/endings.h>
#include <tern/tests/simgpu/library.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/not_simulated.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>
#include <tern/tests/simgpu/streams.h>

#include <cstdlib>
#include <utility>

namespace simgpu {

namespace {

thread_local Task* current_task = nullptr;  // of the work that this thread runs without the lock

void run_checked(Task& task, const std::vector<Access>& accesses, const std::function<void()>& action) {
  for (const Access& access : accesses) check_access(task, access);
  {
    Task* const before = std::exchange(current_task, &task);
    const Unlocked unlocked;
    try {
      action();
    } catch (...) {
      current_task = before;
      throw;
    }
    current_task = before;
  }
  for (const Access& access : accesses) note_written(access);
}

}  // namespace

cudaError_t enqueue_waiting(cudaStream_t handle, std::string name, std::vector<Access> accesses,
                            std::function<bool()> ready, std::function<void()> action) {
  return api("enqueue", [&] {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (capture_forbids_legacy(*stream)) return cudaErrorStreamCaptureImplicit;
    Work work{.name = std::move(name), .device = stream->device, .kind = WorkKind::kernel, .unlocked = true};
    work.ready = std::move(ready);
    work.run = [accesses = std::move(accesses), action = std::move(action)](Task& task) {
      run_checked(task, accesses, action);
    };
    enqueue_work(*stream, std::move(work));
    return cudaSuccess;
  });
}

cudaError_t enqueue(cudaStream_t stream, std::string name, std::vector<Access> accesses,
                    std::function<void()> action) {
  return enqueue_waiting(stream, std::move(name), std::move(accesses), nullptr, std::move(action));
}

void run_something() {
  const Locked lock;
  run_any();
}

bool is_captured(cudaStream_t handle) {
  const Locked lock;
  const Stream* stream = find_stream(handle);
  return stream != nullptr && stream->capture != nullptr;
}

void check_accesses(const std::vector<Access>& accesses) {
  const Locked lock;
  for (const Access& access : accesses) {
    check_access(*current_task, access);
    note_written(access);
  }
}

void* host_address(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return device_of_address(address) < 0 ? const_cast<void*>(pointer) : static_cast<void*>(bytes_at(address));
}

void report_misuse(const char* call, const std::string& what) { report(std::string(call) + ": " + what); }

void not_simulated(const char* call) {
  report_misuse(call, "the stand-in library has no such function");
  std::abort();
}

int compute_capability() { return settings().capability; }

int current_device() { return current_device_number(); }

int device_of(const void* pointer) { return device_of_address(reinterpret_cast<uint64_t>(pointer)); }

int device_of_stream(cudaStream_t handle) {
  const Locked lock;
  const Stream* stream = find_stream(handle);
  return stream == nullptr ? -1 : stream->device;
}

void at_exit_check(const char* kind, std::function<int64_t()> live) { add_exit_check(kind, std::move(live)); }

}  // namespace simgpu
