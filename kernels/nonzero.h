// Where a tensor is not zero, in row-major order. NaN is not zero.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// int64 [n]: the elements of x that are not zero, by their number in row-major order.
Tensor nonzero_flat(const Tensor& x);

/// int64 [n, x.dim()]: the same by their indices.
Tensor nonzero(const Tensor& x);

}  // namespace tern::kernels
