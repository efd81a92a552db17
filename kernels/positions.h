// Checks of what tensors are indexed with.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// `index`, contiguous. Throws Error naming `operation` unless it is int64 and all of it lies in [0, size):
/// with the first index that does not, its row-major position, and the size.
Tensor checked_positions(const Tensor& index, int64_t size, const char* operation);

}  // namespace tern::kernels
