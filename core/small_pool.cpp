#include <tern/core/small_pool.h>

#include <tern/core/build_info.h>

#include <array>
#include <mutex>
#include <new>

namespace tern {
namespace {

constexpr size_t step = 64, classes = 16;  // blocks of 64, 128, … 1024 bytes
constexpr int64_t thread_limit = 256;  // blocks of a class that a thread keeps before it shares half of them

struct Block {
  Block* next;
};

struct List {
  Block* first = nullptr;
  int64_t length = 0;
  void push(Block* block) {
    block->next = first;
    first = block;
    ++length;
  }
  Block* pop() {
    Block* block = first;
    if (block) first = block->next, --length;
    return block;
  }
};

void move(List& from, List& to, int64_t count) {
  while (count-- > 0 && from.first) to.push(from.pop());
}

struct Shared {
  std::mutex mutex;
  std::array<List, classes> lists;
};

// Never destroyed: objects of static lifetime may still give blocks back at exit.
Shared& shared() {
  static Shared* instance = new Shared;
  return *instance;
}

struct ThreadCache {
  std::array<List, classes> lists;
  ~ThreadCache();
};

// The cache is gone once its thread ends, yet later destructors of that thread may still free.
thread_local bool cache_gone = false;
thread_local ThreadCache cache;

ThreadCache::~ThreadCache() {
  cache_gone = true;
  std::lock_guard lock(shared().mutex);
  for (size_t k = 0; k < classes; ++k) move(lists[k], shared().lists[k], lists[k].length);
}

void* take(size_t k) {
  if (!cache_gone) {
    if (Block* block = cache.lists[k].pop()) return block;
  }
  std::lock_guard lock(shared().mutex);
  if (!cache_gone) move(shared().lists[k], cache.lists[k], thread_limit / 2);
  if (Block* block = cache_gone ? shared().lists[k].pop() : cache.lists[k].pop()) return block;
  return ::operator new((k + 1) * step);
}

void give(Block* block, size_t k) noexcept {
  if (cache_gone) {
    std::lock_guard lock(shared().mutex);
    shared().lists[k].push(block);
    return;
  }
  List& list = cache.lists[k];
  list.push(block);
  if (list.length <= thread_limit) return;
  std::lock_guard lock(shared().mutex);
  move(list, shared().lists[k], thread_limit / 2);
}

}  // namespace

void* pool_allocate(size_t bytes) {
  if (sanitized || bytes == 0 || bytes > step * classes) return ::operator new(bytes);
  return take((bytes - 1) / step);
}

void pool_free(void* pointer, size_t bytes) noexcept {
  if (!pointer) return;
  if (sanitized || bytes == 0 || bytes > step * classes) return ::operator delete(pointer);
  give(static_cast<Block*>(pointer), (bytes - 1) / step);
}

bool pool_keeps_blocks() { return !sanitized; }

}  // namespace tern
