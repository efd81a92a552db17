// A dense tensor seen along one dimension: [outer, size, inner].
#pragma once

#include <tern/core/shape.h>
#include <tern/core/thread_pool.h>

#include <algorithm>

namespace tern::kernels {

/// A line runs through `size` elements at distance `inner`; there are outer * inner of them. A tensor without
/// dimensions is one line of one element, an empty one has none.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;

  Lines(const Shape& shape, int64_t dim) {
    if (shape.numel() == 0) {
      outer = 0;
      return;
    }
    for (int i = 0; i < shape.dim(); ++i) (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }
  int64_t count() const { return outer * inner; }
  /// The position of a line's first element.
  int64_t start(int64_t line) const { return line / inner * size * inner + line % inner; }
  /// Lines that one thread takes at a time: fixed, some ten thousand elements.
  int64_t per_block() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(size, 1)); }
};

/// Calls body(start, distance) for each line; several threads share them.
template <class Body>
void for_each_line(const Lines& lines, Body&& body) {
  parallel_for(lines.count(), lines.per_block(), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) body(lines.start(line), lines.inner);
  });
}

/// The size of dimension `dim`; 1 without dimensions.
inline int64_t size_along(const Shape& shape, int64_t dim) { return shape.empty() ? 1 : shape[dim]; }

/// `shape` with another size of one dimension; a shape without dimensions stays as it is.
inline Shape with_size(Shape shape, int64_t dim, int64_t size) {
  if (!shape.empty()) shape[dim] = size;
  return shape;
}

}  // namespace tern::kernels
