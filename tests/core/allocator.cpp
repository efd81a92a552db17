#include <tern/core/allocator.h>
#include <tern/core/build_info.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>

using namespace tern;
using namespace tern::tests;

namespace {

// A block that is given back at the end of the scope.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes), pointer_(allocate(bytes, {})) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { deallocate(pointer_, bytes_, {}); }
  char* get() const { return static_cast<char*>(pointer_); }

 private:
  size_t bytes_;
  void* pointer_;
};

// Nothing kept and no limit, before a test and after it: other tests share the allocator.
struct Clean {
  Clean() { empty_cache(); }
  ~Clean() {
    set_memory_limit(0);
    empty_cache();
  }
};

constexpr size_t mebibyte = size_t{1} << 20;

}  // namespace

TEST_CASE("blocks of any size are 64-byte aligned, and all of their bytes may be used") {
  const Clean clean;
  std::vector<size_t> sizes = {0, 1, 63, 64, 65, 1023, 1024, 1025, 1152, 1153, 4097, 100003};
  for (const size_t huge : {mebibyte, 2 * mebibyte, 2 * mebibyte + mebibyte / 4}) {
    sizes.insert(sizes.end(), {huge - 1, huge, huge + 1});
  }
  for (const size_t bytes : sizes) {
    CAPTURE(bytes);
    const Memory memory(bytes);
    REQUIRE(memory.get());
    CHECK(reinterpret_cast<uintptr_t>(memory.get()) % 64 == 0);
    if (bytes > 0) std::memset(memory.get(), 0xab, bytes);
  }
}

TEST_CASE("blocks in use do not overlap") {
  const Clean clean;
  std::vector<std::unique_ptr<Memory>> blocks;
  for (size_t i = 0; i < 200; ++i) {
    blocks.push_back(std::make_unique<Memory>(i * 37 + 1));
    std::memset(blocks.back()->get(), static_cast<int>(i), i * 37 + 1);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const char* begin = blocks[i]->get();
    const auto mine = [i](char c) { return static_cast<unsigned char>(c) == i; };
    CHECK(std::all_of(begin, begin + i * 37 + 1, mine));
  }
}

TEST_CASE("a block wastes at most an eighth of its size, beyond steps of 64 bytes") {
  const Clean clean;
  for (size_t bytes = 1; bytes < 8 * mebibyte; bytes += bytes / 5 + 1) {
    CAPTURE(bytes);
    const int64_t before = memory_statistics().allocated;
    const Memory memory(bytes);
    const auto taken = static_cast<size_t>(memory_statistics().allocated - before);
    CHECK(taken >= bytes);
    CHECK(taken <= std::max(bytes + 63, bytes + bytes / 8));
  }
}

TEST_CASE("statistics count what is in use, its peak, what is reserved and the requests") {
  const Clean clean;
  reset_peak_memory_statistics();
  const MemoryStatistics start = memory_statistics();
  CHECK(start.peak_allocated == start.allocated);
  {
    const Memory small(64), large(4096);
    const MemoryStatistics now = memory_statistics();
    CHECK(now.allocated == start.allocated + 64 + 4096);
    CHECK(now.reserved == start.reserved + 64 + 4096);
    CHECK(now.allocations == start.allocations + 2);
    CHECK(now.system_allocations == start.system_allocations + 2);
  }
  const MemoryStatistics after = memory_statistics();
  CHECK(after.allocated == start.allocated);
  CHECK(after.peak_allocated == start.allocated + 64 + 4096);
  CHECK(after.reserved == start.reserved + (sanitized ? 0 : 64 + 4096));
  reset_peak_memory_statistics();
  CHECK(memory_statistics().peak_allocated == start.allocated);
}

TEST_CASE("a freed block serves the next request of its size class, without the system") {
  if (sanitized) return;  // nothing is kept there
  const Clean clean;
  for (const size_t bytes : {size_t{40}, size_t{5000}, 3 * mebibyte}) {
    void* first = allocate(bytes, {});
    deallocate(first, bytes, {});
    const int64_t before = memory_statistics().system_allocations;
    const Memory again(bytes), other(bytes);
    CHECK(again.get() == first);
    CHECK(other.get() != first);
    CHECK(memory_statistics().system_allocations == before + 1);
  }
}

TEST_CASE("empty_cache gives back what is kept and leaves what is in use") {
  const Clean clean;
  const int64_t before = memory_statistics().reserved;
  const Memory used(1000);
  std::memset(used.get(), 7, 1000);
  { const Memory kept(3 * mebibyte), also_kept(100); }
  empty_cache();
  CHECK(memory_statistics().reserved == before + 1024);
  CHECK(used.get()[999] == 7);
  empty_cache();
  CHECK(memory_statistics().reserved == before + 1024);
}

TEST_CASE("a limit is an error that names the amounts and the largest holders") {
  const Clean clean;
  const Memory held(3 * mebibyte);
  const auto reserved = static_cast<size_t>(memory_statistics().reserved);
  set_memory_limit(reserved + 4 * mebibyte);
  const MemoryStatistics before = memory_statistics();
  const std::string error = error_of([] { allocate(5 * mebibyte, {}); });
  CHECK(contains(error, "out of memory on cpu:0: 5 MiB asked for"));
  CHECK(contains(error, "MiB in use, limit "));
  CHECK(contains(error, "1 x 3 MiB"));
  CHECK(contains(error_of([] { empty({5, 1 << 20}, uint8); }), "out of memory on cpu:0: 5 MiB asked for"));
  CHECK(memory_statistics().allocated == before.allocated);
  CHECK(memory_statistics().allocations == before.allocations);
  const Memory fits(4 * mebibyte);
  set_memory_limit(0);
  const Memory now_fits(5 * mebibyte);
}

TEST_CASE("kept blocks make room before memory counts as exhausted") {
  const Clean clean;
  set_memory_limit(static_cast<size_t>(memory_statistics().reserved) + 4 * mebibyte);
  { const Memory kept(3 * mebibyte); }
  const Memory needs_the_room(4 * mebibyte);
  CHECK(needs_the_room.get());
}

TEST_CASE("what no machine has is an error that names the bytes") {
  const Clean clean;
  const size_t most = size_t{1} << 62;
  CHECK(contains(error_of([&] { allocate(most + 1, {}); }),
                 "4611686018427387905 bytes were asked for on cpu:0"));
  CHECK_THROWS_AS(allocate(SIZE_MAX, {}), Error);
  if (sanitized) return;  // these end the program when the system refuses
  CHECK(contains(error_of([&] { allocate(most, {}); }), "MiB asked for"));
  CHECK(contains(error_of([&] { allocate(most / 2 + 1, {}); }), "MiB asked for"));
  const Memory still_works(1000);
}

TEST_CASE("a device that does not exist has no memory") {
  for (const int index : {-1, 64, 1000}) {
    const Device device(DeviceType::cpu, index);
    CHECK(contains(error_of([&] { allocate(64, device); }), "does not exist"));
    CHECK_THROWS_AS(memory_statistics(device), Error);
    CHECK_THROWS_AS(empty_cache(device), Error);
    CHECK_THROWS_AS(set_memory_limit(1, device), Error);
  }
}

TEST_CASE("blocks may be freed by another thread than the one that took them") {
  const Clean clean;
  const int64_t before = memory_statistics().allocated;
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(allocate(512, {}));
  std::thread([&] {
    for (void* block : blocks) deallocate(block, 512, {});
  }).join();
  CHECK(memory_statistics().allocated == before);
  const int64_t from_system = memory_statistics().system_allocations;
  for (void*& block : blocks) block = allocate(512, {});
  if (!sanitized) CHECK(memory_statistics().system_allocations == from_system);
  for (void* block : blocks) deallocate(block, 512, {});
}

TEST_CASE("threads that take and free at once get blocks of their own") {
  const Clean clean;
  const int64_t before = memory_statistics().allocated;
  std::vector<int> spoiled(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&spoiled, t] {
      for (size_t i = 0; i < 2000; ++i) {
        const size_t bytes = 64 * (i % 40 + 1);
        const Memory a(bytes), b(bytes);
        std::memset(a.get(), static_cast<int>(t), bytes);
        std::memset(b.get(), static_cast<int>(t + 4), bytes);
        spoiled[t] += a.get()[0] != static_cast<char>(t) || a.get()[bytes - 1] != static_cast<char>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(spoiled == std::vector<int>(4, 0));
  CHECK(memory_statistics().allocated == before);
}
