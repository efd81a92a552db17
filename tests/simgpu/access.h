// What work other than kernels does to memory: checked, with its effect on the shadow. All functions want the
// lock of world.h and throw Fault.
#pragma once

#include <tern/tests/simgpu/library.h>
#include <tern/tests/simgpu/tasks.h>

namespace simgpu {

/// That the task may do this: within one live allocation that its device can reach, aligned as it likes, and
/// what is read initialised. Notes it for races.h.
void check_access(Task& task, const Access& access);

/// What the access writes is initialised from now on.
void note_written(const Access& access);

/// Whether the host may use the bytes: they are no device's.
bool is_host(const void* address);

struct CopyShape {
  size_t width, height = 1, to_pitch = 0, from_pitch = 0;
};

/// Copies between any two places. Uninitialised bytes may go from device to device and stay so; to the host
/// only as padding may.
void copy(Task& task, void* to, const void* from, const CopyShape& shape);

void fill(Task& task, void* to, int value, size_t value_bytes, const CopyShape& shape);

/// The same as work for a stream.
Work copy_work(void* to, const void* from, CopyShape shape, int device);
Work fill_work(void* to, int value, size_t value_bytes, CopyShape shape, int device);

/// The error of a copy's or a fill's arguments that a call answers at once.
cudaError_t check_range(const void* address, size_t bytes, size_t count, size_t pitch);

}  // namespace simgpu
