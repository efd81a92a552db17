// Memory of tensors: a caching allocator per device.
//
// Blocks are 64-byte aligned and kept when they are freed, sorted by size class (steps of an eighth of a
// power of two), so a steady training step makes no system call and no page fault. Blocks of 2 MiB and more
// lie on huge pages where the system has them. Under the address and thread sanitizers nothing is kept. All
// functions may be called from any thread.
#pragma once

#include <tern/core/device.h>

#include <cstddef>
#include <cstdint>

namespace tern {

/// What the allocator of one device has done. Bytes count whole blocks.
struct MemoryStatistics {
  int64_t allocated = 0;           ///< bytes in use
  int64_t peak_allocated = 0;      ///< the most that `allocated` has been
  int64_t reserved = 0;            ///< bytes taken from the system: in use and kept
  int64_t allocations = 0;         ///< requests since the start
  int64_t system_allocations = 0;  ///< those of them that had to ask the system
};

/// At least `bytes` of memory on `device`, uninitialised. When the system refuses, or the limit is reached,
/// the kept blocks are given back and the request is tried again; then throws Error with the amounts and the
/// largest holders.
void* allocate(size_t bytes, Device device);

/// Gives back what allocate(bytes, device) returned.
void deallocate(void* pointer, size_t bytes, Device device) noexcept;

MemoryStatistics memory_statistics(Device device = {});

/// Starts `peak_allocated` anew from what is in use now.
void reset_peak_memory_statistics(Device device = {});

/// Gives all kept blocks of `device` back to the system.
void empty_cache(Device device = {});

/// The most bytes that `device` may reserve; 0 (the start) means no limit of our own.
void set_memory_limit(size_t bytes, Device device = {});

}  // namespace tern
