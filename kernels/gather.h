// Reading and writing single elements by position along one dimension.
//
// index is int64 and has x's number of dimensions; outside `dim` its sizes are at most x's. src has as many
// dimensions, in each at least index's size, and what lies beyond is not read. A position outside x's
// dimension throws Error naming it, its place in the index and the size.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// y[i][j]… = x[i][index[i][j]…]… along `dim`, shaped as index. Any dtype.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);

/// dx of gather() for an x of `shape`: zeros, to which dy is added at the positions of `index`.
Tensor gather_backward(const Tensor& dy, const Shape& shape, int64_t dim, const Tensor& index);

/// x with y[i][index[i][j]…]… = src[i][j]… along `dim`; where a position is repeated, the last in row-major
/// order stays. src has x's dtype (any). The result keeps x's order of dimensions.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

/// The gradients of x and of the part of src that scatter() read. What was overwritten gets 0.
struct ScatterGradients {
  Tensor dx, dsrc;
};
ScatterGradients scatter_backward(const Tensor& dy, int64_t dim, const Tensor& index);

/// x with src[i][j]… added at [i][index[i][j]…]… along `dim`, in row-major order of the elements; half types
/// are summed in float32. src has x's dtype (not bool).
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace tern::kernels
