// Reading and adding single elements by position along one dimension.
//
// index is int64 and has x's number of dimensions; outside `dim` its sizes are at most x's. A position
// outside the dimension throws Error.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// y[i][j]… = x[i][index[i][j]…]… along `dim`, shaped as index. Any dtype.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);

/// dst[i][index[i][j]…]… += src[i][j]… along `dim`, in the order of the elements; src is shaped as index and
/// has dst's dtype (not bool). Throws Error when dst overlaps itself.
void scatter_add(const Tensor& dst, int64_t dim, const Tensor& index, const Tensor& src);

}  // namespace tern::kernels
