// Order along a dimension, and running sums; names, arguments and defaults are those of torch.
//
// NaN counts as larger than every number, and -0 equals 0. Sorting is stable: of equal elements the first
// comes first, in descending order too. Any dtype.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/reduce.h>

namespace tern {

using kernels::ValuesAndIndices;

/// The elements along `dim` in order, and where they were (int64). Values are differentiable.
ValuesAndIndices sort(const Tensor& x, int64_t dim = -1, bool descending = false);
/// sort()'s indices alone.
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);

/// The k largest elements along `dim`, largest first (or the smallest, smallest first), and where they were.
/// Of equals the first is taken. Throws Error unless 0 <= k <= the size. Values are differentiable.
ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true);

/// y[i] = x[0] + … + x[i] along `dim`. Floating-point tensors are summed in double and rounded once per
/// element; integers and bool give int64. Differentiable.
Tensor cumsum(const Tensor& x, int64_t dim);

}  // namespace tern
