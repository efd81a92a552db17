#include <tern/kernels/positions.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>

#include <atomic>

namespace tern::kernels {

Tensor dense_positions(const Tensor& index, const char* operation) {
  check(index.dtype() == int64, operation, ": index must be int64, got ", index.dtype());
  return contiguous(index);
}

void check_positions(const Tensor& positions, int64_t size, const char* operation) {
  const int64_t* at = positions.data<int64_t>();
  std::atomic<bool> all_inside = true;
  parallel_for(positions.numel(), 65536, [&](int64_t begin, int64_t end) {
    bool any_outside = false;
    for (int64_t i = begin; i < end; ++i) any_outside |= is_outside(at[i], size);
    if (any_outside) all_inside = false;
  });
  for (int64_t i = 0; !all_inside && i < positions.numel(); ++i) {
    check(!is_outside(at[i], size), operation, ": index ", at[i], " at position ", i,
          " is outside a dimension of size ", size);
  }
}

Tensor checked_positions(const Tensor& index, int64_t size, const char* operation) {
  const Tensor positions = dense_positions(index, operation);
  check_positions(positions, size, operation);
  return positions;
}

}  // namespace tern::kernels
