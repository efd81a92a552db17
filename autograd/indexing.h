// Reading and writing by tensors of indices; names, arguments and defaults are those of torch and
// torch.nn.functional. index(), index_select() and slices are in views.h.
//
// Indices are int64 and count from 0. One that lies outside throws Error naming it, its row-major position
// and the size, and nothing is written. Gradients add repeated indices in row-major order, half types in
// float32: the same bits for any number of threads.
#pragma once

#include <tern/core/scalar.h>
#include <tern/core/tensor.h>

#include <optional>

namespace tern {

/// y[i][j]… = x[i][index[i][j]…]… along `dim`, shaped as `index`, which has x's number of dimensions and
/// outside `dim` at most its sizes. Any dtype; differentiable in x.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);

/// A copy of x with y[i][index[i][j]…]… = src[i][j]… along `dim`. index has x's number of dimensions and
/// outside `dim` at most its sizes; src is at least as large as index in each dimension, and has x's dtype
/// (any). Where a position is repeated the last in row-major order stays, and it alone gets the gradient
/// (PyTorch leaves both open). Differentiable in x and src.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
/// The same with one number, converted to x's dtype.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, Scalar value);
/// Like scatter(), but adds src to what is there, repeated positions in row-major order. Not for bool.
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

/// A copy of x with y[…, index[i], …] += source[…, i, …] along `dim`: index is 1-d, source has x's dtype and,
/// except for as many elements along `dim` as index has, x's shape. Not for bool. Differentiable in x and
/// source.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);

/// The elements of x where `mask` (bool) is true, 1-d in row-major order; both broadcast. Differentiable in
/// x.
Tensor masked_select(const Tensor& x, const Tensor& mask);

/// int64 [n, x.dim()]: the indices of the elements of x that are not zero (NaN is not), in row-major order.
Tensor nonzero(const Tensor& x);

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};  ///< the row that gets no gradient; negative counts from the end
};
/// Rows of weight [V, D] in the order of `input` [...]: y [..., D]. Differentiable in weight.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingOptions& options = {});

/// int64 [..., num_classes]: 1 where the last index is that in `indices` [...], else 0; with -1 as many
/// classes as the largest index needs (an Error when there is none).
Tensor one_hot(const Tensor& indices, int64_t num_classes = -1);

/// How often each of 0, …, max(x) occurs in x (1-d, integers; negative ones throw Error): int64 of at least
/// `minlength` elements. With `weights`, shaped as x, sums of theirs in the order of x: float32 for float32
/// weights, else float64. Not differentiable.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);

}  // namespace tern
