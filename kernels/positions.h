// Checks of what tensors are indexed with.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// `index`, contiguous. Throws Error naming `operation` unless it is int64.
Tensor dense_positions(const Tensor& index, const char* operation);

inline bool is_outside(int64_t position, int64_t size) {
  return static_cast<uint64_t>(position) >= static_cast<uint64_t>(size);
}

/// Throws Error naming `operation` unless all of contiguous `positions` lies in [0, size): with the first
/// that does not, its row-major position, and the size.
void check_positions(const Tensor& positions, int64_t size, const char* operation);

/// dense_positions(), checked.
Tensor checked_positions(const Tensor& index, int64_t size, const char* operation);

}  // namespace tern::kernels
