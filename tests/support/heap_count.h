// Counts what a program asks of the system's heap and of its memory. A program that is linked with
// heap_count.cpp has its malloc and relatives replaced; operator new comes through malloc.
#pragma once

#include <cstdint>

namespace tern::tests {

/// True when calls are counted: not under the sanitizers, which replace malloc themselves.
bool counts_heap();
/// Calls of malloc, calloc, realloc, aligned_alloc, posix_memalign and memalign so far, by all threads.
int64_t heap_calls();
/// Page faults of the process so far that needed no disk: memory touched for the first time.
int64_t page_faults();

}  // namespace tern::tests
