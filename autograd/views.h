// Other views of the same elements, and indexing. Differentiable; memory is shared wherever strides can
// express the result, so a write shows in both.
#pragma once

#include <tern/core/tensor.h>

#include <initializer_list>
#include <limits>
#include <variant>

namespace tern {

/// The same elements in row-major order as `shape`, where one size may be -1. Shares memory; throws Error
/// when no strides can express it (use reshape).
Tensor view(const Tensor& x, const Shape& shape);
/// Like view(), but copies when it must. Whether memory is shared is not part of the contract.
Tensor reshape(const Tensor& x, const Shape& shape);
/// Dimensions start_dim to end_dim as one, in reshape()'s way. A channels-last image is reordered to
/// row-major order; nn::Sequential avoids that between a convolution and a Linear.
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// The transpose of a matrix (a vector stays as it is). Throws Error above 2 dimensions.
Tensor t(const Tensor& x);
Tensor permute(const Tensor& x, const Shape& dims);
/// Without dimension `dim` if its size is 1.
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Repeats dimensions of size 1 without copying; -1 keeps a size. Writing through the result throws Error.
Tensor expand(const Tensor& x, const Shape& shape);

/// Element `index` of dimension `dim`, which disappears; negative counts from the end.
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// Elements start, start + step, … before `stop` of dimension `dim`, clipped as in NumPy.
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step = 1);
/// `length` elements of dimension `dim` from `start`, which counts from the end when negative. Throws Error
/// when they are not all there.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// The elements x[…, i, …, i + offset, …] of dimensions dim1 and dim2, which become one, the last.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);

/// A range of indices: Slice() is everything, Slice(2) starts at 2, Slice(0, -1) leaves out the last.
struct Slice {
  int64_t start = 0;
  int64_t stop = std::numeric_limits<int64_t>::max();
  int64_t step = 1;
  Slice() = default;
  Slice(int64_t first, int64_t end = std::numeric_limits<int64_t>::max(), int64_t by = 1)
      : start(first), stop(end), step(by) {}
};

/// What one dimension is indexed with: a position, a range, or a 1-d int64 tensor of positions.
using Index = std::variant<int64_t, Slice, Tensor>;

/// x[i, j, …]: one index per leading dimension, the remaining ones whole. index(x, {1, Slice(0, 4),
/// positions}). Positions and ranges are views, a tensor of positions copies (index_select along its
/// dimension).
Tensor index(const Tensor& x, std::initializer_list<Index> indices);

/// Slices of x along `dim` in the order of `index` (1-d int64, in range: Error otherwise).
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);

/// Tensors one after another along `dim`, promoted to one dtype.
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);

}  // namespace tern
