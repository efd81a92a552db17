// Where the lanes of a warp find the memory that they address, checked: in bounds of a live allocation,
// aligned, and initialised where it is read. Included by the ptx_*.cpp files that touch memory.
#pragma once

#include <tern/tests/simgpu/grid.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/races.h>

#include <cstring>

namespace simgpu {

enum class Space { global, shared, local };  // global: generic too

/// The range of memory around a generic address, or a fault.
CachedRange find_range(const Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                       Touch touch, uint32_t lane);

[[noreturn]] void misaligned(const Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                             uint32_t lane);
[[noreturn]] void uninitialized(const Warp& warp, const Operation& operation, uint64_t address,
                                uint32_t bytes, uint32_t lane);
[[noreturn]] void outside(const Warp& warp, const Operation& operation, Space space, uint64_t offset,
                          uint32_t bytes, uint32_t lane);

/// Notes an access to shared memory, and reports a race with another warp since the last barrier.
void track_shared(Warp& warp, const Operation& operation, uint32_t offset, uint32_t bytes, bool writes,
                  bool strong, uint32_t lane);

inline bool is_initialized(const uint8_t* shadow, size_t bytes) {
  uint8_t all = 1;
  for (size_t at = 0; at < bytes; ++at) all &= shadow[at];
  return all != 0;
}

/// The bytes at a generic address, after all checks.
inline uint8_t* global_place(Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                             Touch touch, uint32_t lane) {
  CachedRange& range = warp.block->ranges[operation.cache];
  if (address < range.begin || address + bytes > range.end) [[unlikely]] {
    range = find_range(warp, operation, address, bytes, touch, lane);
  }
  if (address % bytes != 0) [[unlikely]]
    misaligned(warp, operation, address, bytes, lane);
  if (range.shadow != 0) {
    auto* shadow = reinterpret_cast<uint8_t*>(address + range.shadow);
    if (touch == Touch::write) {
      std::memset(shadow, 1, bytes);
    } else if (!is_initialized(shadow, bytes)) [[unlikely]] {
      uninitialized(warp, operation, address, bytes, lane);
    }
    if (warp.block->footprint != nullptr) warp.block->footprint->mark(address, bytes, touch);
  }
  return reinterpret_cast<uint8_t*>(address + range.bytes);
}

/// The same for an address of the given space.
template <Space space>
inline uint8_t* place(Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes, Touch touch,
                      uint32_t lane, bool strong = false) {
  if constexpr (space == Space::global) {
    return global_place(warp, operation, address, bytes, touch, lane);
  } else {
    const Block& block = *warp.block;
    const auto offset = static_cast<uint32_t>(address);
    const uint32_t limit = space == Space::shared ? block.shared_bytes : block.kernel->local_bytes;
    if (uint64_t{offset} + bytes > limit) outside(warp, operation, space, offset, bytes, lane);
    if (offset % bytes != 0) misaligned(warp, operation, offset, bytes, lane);
    if constexpr (space == Space::shared) {
      track_shared(warp, operation, offset, bytes, touch != Touch::read, strong || touch == Touch::atomic,
                   lane);
      return bytes_at(block.shared_base + offset);
    }
    return bytes_at(block.local_base + (uint64_t{warp.index} * 32 + lane) * limit + offset);
  }
}

/// An access of all 32 lanes to neighbouring elements, the usual case: one check for all of them. Null if it
/// is not of that kind, or needs to be looked at lane by lane.
template <class T>
inline uint8_t* neighbours(Warp& warp, const Operation& operation, const uint64_t* addresses, Touch touch) {
  if (warp.mask != all_lanes) return nullptr;
  uint64_t differs = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) differs |= addresses[lane] - addresses[0] - lane * sizeof(T);
  const uint64_t begin = addresses[0] + static_cast<uint64_t>(operation.immediate);
  const CachedRange& range = warp.block->ranges[operation.cache];
  constexpr uint64_t bytes = 32 * sizeof(T);
  if (differs != 0 || begin % sizeof(T) != 0 || begin < range.begin || begin + bytes > range.end)
    return nullptr;
  if (range.shadow != 0) {
    auto* shadow = reinterpret_cast<uint8_t*>(begin + range.shadow);
    if (touch == Touch::write) {
      std::memset(shadow, 1, bytes);
    } else if (!is_initialized(shadow, bytes)) {
      return nullptr;
    }
    if (warp.block->footprint != nullptr) warp.block->footprint->mark(begin, bytes, touch);
  }
  return reinterpret_cast<uint8_t*>(begin + range.bytes);
}

}  // namespace simgpu
