// Memory for small, short-lived objects: tensor handles' implementations, graph nodes, saved tensors.
//
// A training step makes and drops the same few hundred of them every time. Freed blocks are kept in lists by
// size, one set per thread with a shared one behind it, so a steady step never reaches the system's heap.
// Under the address and thread sanitizers every block is a real allocation, so that they see each use after
// free.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern {

/// At least `bytes` of memory, aligned for any type. Throws std::bad_alloc. Any thread.
void* pool_allocate(size_t bytes);

/// Gives back what pool_allocate(bytes) returned; `bytes` is the same number. Any thread.
void pool_free(void* pointer, size_t bytes) noexcept;

/// True where blocks are kept and reused (not under a sanitizer).
bool pool_keeps_blocks();

}  // namespace tern
