#include <tern/kernels/positions.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>

#include <atomic>

namespace tern::kernels {
namespace {

bool outside(int64_t position, int64_t size) {
  return static_cast<uint64_t>(position) >= static_cast<uint64_t>(size);
}

}  // namespace

Tensor checked_positions(const Tensor& index, int64_t size, const char* operation) {
  check(index.dtype() == int64, operation, ": index must be int64, got ", index.dtype());
  const Tensor dense = contiguous(index);
  const int64_t* positions = dense.data<int64_t>();
  std::atomic<bool> all_inside = true;
  parallel_for(dense.numel(), 65536, [&](int64_t begin, int64_t end) {
    bool any_outside = false;
    for (int64_t i = begin; i < end; ++i) any_outside |= outside(positions[i], size);
    if (any_outside) all_inside = false;
  });
  for (int64_t i = 0; !all_inside && i < dense.numel(); ++i) {
    check(!outside(positions[i], size), operation, ": index ", positions[i], " at position ", i,
          " is outside a dimension of size ", size);
  }
  return dense;
}

}  // namespace tern::kernels
