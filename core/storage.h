// A block of memory that tensors share.
#pragma once

#include <tern/core/device.h>
#include <tern/core/ref.h>

#include <atomic>
#include <cstdint>
#include <functional>

namespace tern {

/// Owns a block on one device, and counts the writes made to it in place: what backward keeps remembers the
/// count and refuses to work on values that have changed since.
class Storage : public RefCounted {
 public:
  /// A new block from the device's allocator, uninitialised. Throws Error when there is no memory.
  Storage(size_t bytes, Device device);
  /// Memory of somebody else; `release` is called when the last tensor lets go.
  Storage(void* data, size_t bytes, Device device, std::function<void()> release);
  ~Storage() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void* data_;
  size_t bytes_;
  Device device_;
  bool owned_;
  std::atomic<uint64_t> version_{0};
  std::function<void()> release_;
};

}  // namespace tern
