#include <tern/tests/support/heap_count.h>

#include <tern/core/build_info.h>

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TERN_COUNTS_HEAP 1
#else
#define TERN_COUNTS_HEAP 0
#endif

namespace {
std::atomic<int64_t> calls{0};
}

#if TERN_COUNTS_HEAP
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* pointer, size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(pointer, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}
}
#endif

namespace tern::tests {

bool counts_heap() { return TERN_COUNTS_HEAP && !sanitized; }

int64_t heap_calls() { return calls.load(); }

int64_t page_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace tern::tests
