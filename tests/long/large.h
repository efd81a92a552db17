// Tensors of a few more than 2^31 bytes: most are zeros that take no memory, with marks where counting in 32
// bits would go wrong.
#pragma once

#include <tern/core/allocator.h>
#include <tern/kernels/fill.h>
#include <tern/tests/support/layouts.h>

#include <array>
#include <utility>

namespace tern::tests {

constexpr int64_t boundary = int64_t{1} << 31, large_size = boundary + 6, half_size = large_size / 2;

struct Mark {
  int64_t place, value;
};
constexpr std::array<Mark, 5> marks{
    {{0, 1}, {boundary - 1, 2}, {boundary, 3}, {boundary + 1, 4}, {large_size - 1, 5}}};

/// The value at a place of a dense tensor, seen as a row.
inline double value_at(const Tensor& x, int64_t place) {
  const Tensor one = x.with_layout(Layout({}, {}, x.layout().offset + place));
  return one.item<double>();
}

/// Zeros with the marks, in `large_size` elements.
inline Tensor marked(DType dtype = uint8) {
  const Tensor x = sparse_zeros({large_size}, dtype);
  for (const Mark& mark : marks) kernels::fill(x.with_layout(Layout({}, {}, mark.place)), mark.value);
  return x;
}

/// Gives the memory of a test back to the system at its end.
struct EmptyCache {
  ~EmptyCache() { empty_cache(); }
};

}  // namespace tern::tests
