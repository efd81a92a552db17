// Threads for kernels: one pool for the process.
//
// Work is cut into blocks of a fixed size that depends on the operation alone; threads take blocks, not
// shares. Whatever the number of threads, the same blocks are computed in the same way, so results are equal
// bit for bit.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tern {

/// How many threads kernels use, the calling one included. At the start: TERN_NUM_THREADS, or the number of
/// processors that the process may run on.
int get_num_threads();

/// Sets it, from 1 to 1024. Throws Error, and changes nothing, for any other number and when the system
/// refuses the threads. Not while kernels run.
void set_num_threads(int count);

namespace detail {
using BlockFunction = void (*)(void* body, int64_t begin, int64_t end);
void parallel_for(int64_t count, int64_t block, BlockFunction call, void* body);
}  // namespace detail

/// Calls body(begin, end) for [0, block), [block, 2 block), … up to `count`, on several threads, and returns
/// when all are done. The calls may come in any order and at the same time. Runs on the caller's thread alone
/// when there is one block, when called from inside another parallel_for, or while another thread's work
/// holds the pool. The first exception that a call throws is thrown here after the others have ended.
template <class Body>
void parallel_for(int64_t count, int64_t block, Body&& body) {
  if (count <= 0) return;
  if (count <= block) {
    body(int64_t{0}, count);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  detail::parallel_for(
      count, block, [](void* b, int64_t begin, int64_t end) { (*static_cast<Plain*>(b))(begin, end); },
      const_cast<std::remove_const_t<Plain>*>(&body));
}

/// The number of the calling thread within the parallel_for that it runs in: 0 (the caller) to
/// get_num_threads() - 1. For scratch memory per thread.
int thread_index();

}  // namespace tern
