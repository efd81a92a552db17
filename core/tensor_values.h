// The values of a tensor on their way to and from files. Internal to core.
#pragma once

#include <tern/core/file.h>
#include <tern/core/tensor.h>

#include <functional>

namespace tern {

/// The bytes of all elements.
inline int64_t bytes_of(const Tensor& x) { return x.numel() * static_cast<int64_t>(size_of(x.dtype())); }

/// Hands the elements to write(memory, bytes) in row-major order, whatever x's strides.
void each_value(const Tensor& x, const std::function<void(const void*, size_t)>& write);

/// Writes the elements in row-major order, whatever x's strides.
inline void write_values(FileWriter& file, const Tensor& x) {
  each_value(x, [&](const void* data, size_t bytes) { file.write(data, bytes); });
}

/// Whether bytes that came from outside are values of x's dtype: for bool those must be 0 or 1. x is dense.
bool holds_valid_values(const Tensor& x);

}  // namespace tern
