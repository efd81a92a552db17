#include <tern/core/small_pool.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using namespace tern;

namespace {

std::vector<void*> take(int count, size_t bytes) {
  std::vector<void*> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back(pool_allocate(bytes));
  return blocks;
}

void give_back(const std::vector<void*>& blocks, size_t bytes) {
  for (void* block : blocks) pool_free(block, bytes);
}

// How many of `blocks` are among `earlier`.
int64_t reused(const std::vector<void*>& blocks, const std::vector<void*>& earlier) {
  const std::set<void*> known(earlier.begin(), earlier.end());
  return std::count_if(blocks.begin(), blocks.end(), [&](void* block) { return known.contains(block); });
}

}  // namespace

TEST_CASE("pool blocks of every size are aligned and usable to their last byte") {
  for (size_t bytes = 0; bytes <= 1300; ++bytes) {
    void* block = pool_allocate(bytes);
    REQUIRE(block);
    CHECK(reinterpret_cast<uintptr_t>(block) % alignof(std::max_align_t) == 0);
    std::memset(block, 0x5a, bytes);
    pool_free(block, bytes);
  }
}

TEST_CASE("a freed pool block is the next of its size") {
  if (!pool_keeps_blocks()) return;
  for (const size_t bytes : {size_t{1}, size_t{64}, size_t{65}, size_t{1000}, size_t{1024}}) {
    void* first = pool_allocate(bytes);
    pool_free(first, bytes);
    void* second = pool_allocate(bytes);
    CHECK(second == first);
    pool_free(second, bytes);
  }
}

TEST_CASE("sizes of one class share blocks, other classes do not") {
  if (!pool_keeps_blocks()) return;
  void* block = pool_allocate(65);
  pool_free(block, 65);
  void* other = pool_allocate(129);
  CHECK(other != block);
  void* same = pool_allocate(128);
  CHECK(same == block);
  pool_free(same, 128);
  pool_free(other, 129);
}

TEST_CASE("large pool blocks come from the heap and go back to it") {
  for (const size_t bytes : {size_t{1025}, size_t{4096}, size_t{1} << 20}) {
    const std::vector<void*> blocks = take(3, bytes);
    CHECK(std::set<void*>(blocks.begin(), blocks.end()).size() == 3);
    for (void* block : blocks) std::memset(block, 1, bytes);
    give_back(blocks, bytes);
  }
}

TEST_CASE("freeing nothing does nothing") {
  pool_free(nullptr, 0);
  pool_free(nullptr, 64);
  pool_free(nullptr, 5000);
}

TEST_CASE("more pool blocks than one thread keeps are all reused") {
  constexpr size_t bytes = 897;
  const std::vector<void*> first = take(2000, bytes);
  CHECK(std::set<void*>(first.begin(), first.end()).size() == 2000);
  give_back(first, bytes);
  const std::vector<void*> second = take(2000, bytes);
  CHECK(std::set<void*>(second.begin(), second.end()).size() == 2000);
  if (pool_keeps_blocks()) CHECK(reused(second, first) == 2000);
  give_back(second, bytes);
}

TEST_CASE("pool blocks freed by a thread that ends serve the others") {
  constexpr size_t bytes = 833;
  const std::vector<void*> first = take(100, bytes);
  std::thread([&] { give_back(first, bytes); }).join();
  // More than this thread can have kept itself.
  const std::vector<void*> second = take(500, bytes);
  if (pool_keeps_blocks()) CHECK(reused(second, first) == 100);
  give_back(second, bytes);
}

TEST_CASE("pool blocks move between threads that take and free at once") {
  constexpr int threads = 4, rounds = 50, count = 300;
  std::vector<int> spoiled(threads);
  std::vector<std::vector<void*>> handed(threads);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const auto me = static_cast<size_t>(t), neighbour = static_cast<size_t>((t + 1) % threads);
        std::vector<void*> mine = take(count, 200);
        for (void* block : mine) std::memset(block, t, 200);
        for (void* block : mine) spoiled[me] += static_cast<char*>(block)[199] != static_cast<char>(t);
        // What this thread took in one round its neighbour frees in the next.
        if (round % 2 == 0) {
          handed[me] = mine;
        } else {
          give_back(handed[neighbour], 200);
          give_back(mine, 200);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  CHECK(spoiled == std::vector<int>(threads, 0));
}

TEST_CASE("a pool block may be freed when its thread's own lists are gone") {
  // Destroyed after the pool's lists of that thread, because it was made before them.
  struct Late {
    void* block = nullptr;
    ~Late() { pool_free(block, 769); }
  };
  void* block = nullptr;
  std::thread([&] {
    thread_local Late late;
    block = late.block = pool_allocate(769);
  }).join();
  const std::vector<void*> blocks = take(500, 769);
  if (pool_keeps_blocks()) CHECK(reused({block}, blocks) == 1);
  give_back(blocks, 769);
}
