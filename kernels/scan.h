// Running sums along a dimension, and products of all elements but one.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// y[i] = x[0] + … + x[i] along `dim`; from_end: x[i] + … + x[last]. Floating-point tensors keep their dtype
/// and are summed in double, rounded once per element; integers and bool give int64, which wraps around.
Tensor cumsum(const Tensor& x, int64_t dim, bool from_end = false);

/// float64, shaped as x: for each element the product of the others among those that a reduction over `dims`
/// would multiply with it. Without a division: exact around zeros.
Tensor products_of_others(const Tensor& x, const Shape& dims);

}  // namespace tern::kernels
