#include <tern/core/allocator.h>

#include <tern/core/build_info.h>
#include <tern/core/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <sstream>

#include <sys/mman.h>

namespace tern {
namespace {

constexpr size_t alignment = 64, huge_page = size_t{2} << 20;
constexpr size_t linear_classes = 16, class_count = linear_classes + 8 * 54;

// Up to 1 KiB the classes are 64 bytes apart, above it an eighth of the power of two below.
size_t class_of(size_t bytes) {
  if (bytes <= alignment * linear_classes) return bytes == 0 ? 0 : (bytes - 1) / alignment;
  const int exponent = std::bit_width(bytes - 1) - 1;
  const size_t eighth = ((bytes - 1) >> (exponent - 3)) & 7;
  return linear_classes + static_cast<size_t>(exponent - 10) * 8 + eighth;
}

size_t class_bytes(size_t k) {
  if (k < linear_classes) return (k + 1) * alignment;
  const size_t exponent = 10 + (k - linear_classes) / 8, eighth = (k - linear_classes) % 8;
  return (size_t{1} << exponent) + ((eighth + 1) << (exponent - 3));
}

void* system_allocate(size_t bytes) {
  if (bytes < huge_page) return std::aligned_alloc(alignment, bytes);
  void* pointer = std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page);
  if (pointer) madvise(pointer, bytes, MADV_HUGEPAGE);
  return pointer;
}

struct Block {
  Block* next;
};

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

class Cache {
 public:
  void* allocate(size_t bytes, Device device);
  void deallocate(void* pointer, size_t bytes) noexcept;
  void empty();

  std::mutex mutex;
  MemoryStatistics statistics;
  size_t limit = 0;

 private:
  void* take_from_system(size_t k);
  std::string out_of_memory(size_t bytes, Device device) const;

  std::array<Block*, class_count> kept_{};
  std::array<int64_t, class_count> live_{};  // blocks in use, by class
};

void* Cache::take_from_system(size_t k) {
  const auto bytes = static_cast<int64_t>(class_bytes(k));
  if (limit && static_cast<size_t>(statistics.reserved + bytes) > limit) return nullptr;
  void* pointer = system_allocate(class_bytes(k));
  if (pointer) statistics.reserved += bytes, ++statistics.system_allocations;
  return pointer;
}

void* Cache::allocate(size_t bytes, Device device) {
  check(bytes <= size_t{1} << 62, "out of memory: ", bytes, " bytes were asked for on ", device);
  const size_t k = class_of(bytes);
  void* pointer = kept_[k];
  if (pointer) {
    kept_[k] = kept_[k]->next;
  } else {
    pointer = take_from_system(k);
    if (!pointer) empty(), pointer = take_from_system(k);
    if (!pointer) throw Error(out_of_memory(bytes, device));
  }
  ++live_[k];
  ++statistics.allocations;
  statistics.allocated += static_cast<int64_t>(class_bytes(k));
  statistics.peak_allocated = std::max(statistics.peak_allocated, statistics.allocated);
  return pointer;
}

void Cache::deallocate(void* pointer, size_t bytes) noexcept {
  const size_t k = class_of(bytes);
  --live_[k];
  statistics.allocated -= static_cast<int64_t>(class_bytes(k));
  if (sanitized) {
    statistics.reserved -= static_cast<int64_t>(class_bytes(k));
    std::free(pointer);
  } else {
    kept_[k] = new (pointer) Block{kept_[k]};
  }
}

void Cache::empty() {
  for (size_t k = 0; k < class_count; ++k) {
    while (Block* block = kept_[k]) {
      kept_[k] = block->next;
      std::free(block);
      statistics.reserved -= static_cast<int64_t>(class_bytes(k));
    }
  }
}

std::string Cache::out_of_memory(size_t bytes, Device device) const {
  std::ostringstream text;
  text.precision(4);
  text << "out of memory on " << device << ": " << mebibytes(static_cast<int64_t>(bytes))
       << " MiB asked for, " << mebibytes(statistics.allocated) << " MiB in use";
  if (limit) text << ", limit " << mebibytes(static_cast<int64_t>(limit)) << " MiB";
  text << "; the largest holders:";
  int listed = 0;
  for (size_t k = class_count; k-- > 0 && listed < 4;) {
    if (live_[k] == 0) continue;
    text << (listed++ ? ", " : " ") << live_[k] << " x " << mebibytes(static_cast<int64_t>(class_bytes(k)))
         << " MiB";
  }
  return text.str() + (listed ? "" : " none");
}

// Never destroyed: tensors of static lifetime are freed after main().
Cache& cache_of(Device device) {
  static auto* caches = new std::array<Cache, 64>;
  check_device(device);
  check(device.is_cpu(), "allocate: this build has no memory on ", device);
  return (*caches)[static_cast<size_t>(device.index)];
}

}  // namespace

void* allocate(size_t bytes, Device device) {
  Cache& cache = cache_of(device);
  std::lock_guard lock(cache.mutex);
  return cache.allocate(bytes, device);
}

void deallocate(void* pointer, size_t bytes, Device device) noexcept {
  Cache& cache = cache_of(device);
  std::lock_guard lock(cache.mutex);
  cache.deallocate(pointer, bytes);
}

MemoryStatistics memory_statistics(Device device) {
  Cache& cache = cache_of(device);
  std::lock_guard lock(cache.mutex);
  return cache.statistics;
}

void reset_peak_memory_statistics(Device device) {
  Cache& cache = cache_of(device);
  std::lock_guard lock(cache.mutex);
  cache.statistics.peak_allocated = cache.statistics.allocated;
}

void empty_cache(Device device) {
  Cache& cache = cache_of(device);
  std::lock_guard lock(cache.mutex);
  cache.empty();
}

void set_memory_limit(size_t bytes, Device device) {
  Cache& cache = cache_of(device);
  std::lock_guard lock(cache.mutex);
  cache.limit = bytes;
}

}  // namespace tern
