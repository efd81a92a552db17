#include <tern/tests/simgpu/access.h>
#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/races.h>
#include <tern/tests/simgpu/report.h>

#include <algorithm>
#include <cstring>

namespace simgpu {
namespace {

constexpr size_t longest_padding = 7;  // between members of a struct that the device wrote

uint64_t number_of(const void* address) { return reinterpret_cast<uint64_t>(address); }

uint8_t* host_bytes(const void* address) { return static_cast<uint8_t*>(host_address(address)); }

[[noreturn]] void refuse(const Task& task, uint64_t address, size_t bytes, const char* verb,
                         const char* why) {
  throw Fault(cudaErrorIllegalAddress,
              format("%s in %s: %s of %zu bytes at 0x%llx, %s", why, task.work.name.c_str(), verb, bytes,
                     static_cast<unsigned long long>(address), describe_address(address).c_str()));
}

/// One piece of an access, in bounds of what it may touch.
void check_bounds(Task& task, uint64_t address, size_t bytes, bool writes) {
  const char* verb = writes ? "a write" : "a read";
  const Allocation* found = find_allocation(address);
  if (found == nullptr || address + bytes > found->end()) refuse(task, address, bytes, verb, "out of bounds");
  if (!found->live) refuse(task, address, bytes, verb, "use after free");
  const bool reaches = found->device < 0 || may_access(task.work.device, found->device);
  if (!reaches) refuse(task, address, bytes, verb, "memory of a device that is no peer");
  if (Footprint* footprint = footprint_of(task)) {
    footprint->mark_range(address, bytes, writes ? Touch::write : Touch::read);
  }
}

/// Only copies may touch host memory that is not pinned, and any device's memory.
void check_copied(Task& task, const void* pointer, size_t bytes, bool writes) {
  const uint64_t address = number_of(pointer);
  if (bytes == 0) return;
  if (is_host(pointer) && find_live(address) == nullptr) return;
  const char* verb = writes ? "a write" : "a read";
  const Allocation* found = find_allocation(address);
  if (found == nullptr || address + bytes > found->end()) refuse(task, address, bytes, verb, "out of bounds");
  if (!found->live) refuse(task, address, bytes, verb, "use after free");
  if (Footprint* footprint = footprint_of(task)) {
    footprint->mark_range(address, bytes, writes ? Touch::write : Touch::read);
  }
}

/// The first byte of a run of uninitialised bytes that no padding explains; `bytes` if there is none.
size_t find_uninitialized(const uint8_t* shadow, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const void* zero = std::memchr(shadow + at, 0, bytes - at);
    if (zero == nullptr) return bytes;
    const auto begin = static_cast<size_t>(static_cast<const uint8_t*>(zero) - shadow);
    size_t end = begin;
    while (end < bytes && shadow[end] == 0) ++end;
    if (end - begin > longest_padding || end - begin == bytes) return begin;
    at = end;
  }
  return bytes;
}

void copy_row(Task& task, void* to, const void* from, size_t bytes) {
  std::memmove(host_bytes(to), host_bytes(from), bytes);
  const bool device_reads = !is_host(from), device_writes = !is_host(to);
  if (device_writes && device_reads) {
    std::memmove(shadow_at(number_of(to)), shadow_at(number_of(from)), bytes);
  } else if (device_writes) {
    std::memset(shadow_at(number_of(to)), 1, bytes);
  } else if (device_reads) {
    const size_t bad = find_uninitialized(shadow_at(number_of(from)), bytes);
    if (bad < bytes)
      refuse(task, number_of(from) + bad, bytes - bad, "a read", "uninitialised memory is read");
  }
}

}  // namespace

bool is_host(const void* address) { return device_of_address(number_of(address)) < 0; }

void check_access(Task& task, const Access& access) {
  for (size_t piece = 0; piece < access.count && access.bytes > 0; ++piece) {
    const uint64_t address = number_of(access.address) + piece * access.pitch;
    check_bounds(task, address, access.bytes, access.writes);
    if (access.writes || is_host(access.address)) continue;
    const void* zero = std::memchr(shadow_at(address), 0, access.bytes);
    if (zero == nullptr) continue;
    const auto offset = static_cast<size_t>(static_cast<const uint8_t*>(zero) - shadow_at(address));
    refuse(task, address + offset, access.bytes - offset, "a read", "uninitialised memory is read");
  }
}

void note_written(const Access& access) {
  if (!access.writes || is_host(access.address)) return;
  for (size_t piece = 0; piece < access.count; ++piece) {
    std::memset(shadow_at(number_of(access.address) + piece * access.pitch), 1, access.bytes);
  }
}

void copy(Task& task, void* to, const void* from, const CopyShape& shape) {
  for (size_t row = 0; row < shape.height; ++row) {
    void* target = static_cast<uint8_t*>(to) + row * shape.to_pitch;
    const void* source = static_cast<const uint8_t*>(from) + row * shape.from_pitch;
    check_copied(task, target, shape.width, true);
    check_copied(task, source, shape.width, false);
    copy_row(task, target, source, shape.width);
  }
}

void fill(Task& task, void* to, int value, size_t value_bytes, const CopyShape& shape) {
  for (size_t row = 0; row < shape.height; ++row) {
    uint8_t* target = static_cast<uint8_t*>(to) + row * shape.to_pitch;
    check_bounds(task, number_of(target), shape.width, true);
    uint8_t* bytes = host_bytes(target);
    if (value_bytes == 1) {
      std::memset(bytes, value, shape.width);
    } else {
      for (size_t at = 0; at < shape.width; at += value_bytes) std::memcpy(bytes + at, &value, value_bytes);
    }
    if (!is_host(target)) std::memset(shadow_at(number_of(target)), 1, shape.width);
  }
}

Work copy_work(void* to, const void* from, CopyShape shape, int device) {
  Work work{.name = "a copy", .device = device, .kind = WorkKind::copy};
  work.run = [=](Task& task) { copy(task, to, from, shape); };
  return work;
}

Work fill_work(void* to, int value, size_t value_bytes, CopyShape shape, int device) {
  Work work{.name = "a memset", .device = device, .kind = WorkKind::set};
  work.run = [=](Task& task) { fill(task, to, value, value_bytes, shape); };
  return work;
}

cudaError_t check_range(const void* address, size_t bytes, size_t count, size_t pitch) {
  if (bytes == 0 || count == 0) return cudaSuccess;
  if (address == nullptr || (count > 1 && pitch < bytes)) return cudaErrorInvalidValue;
  if (is_host(address)) return cudaSuccess;
  const Allocation* found = find_live(number_of(address));
  const uint64_t end = number_of(address) + (count - 1) * pitch + bytes;
  return found != nullptr && end <= found->end() ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace simgpu
