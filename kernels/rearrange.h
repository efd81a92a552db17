// Copies in which elements change places: reversed, rotated, repeated, cut to a triangle. Any dtype.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// A view of x with dimension `dim` from last to first. Its stride is negative, which copy() and the
/// pointwise kernels read; it must not be written through, nor reach users.
Tensor reversed(const Tensor& x, int64_t dim);

/// x with `dims` from last to first, in x's order of dimensions. Throws Error for a dimension that is missing
/// or repeated.
Tensor flip(const Tensor& x, const Shape& dims);

/// x with its elements moved by `shifts` along `dims`, those pushed off the end coming back at the start;
/// without dims by one shift in row-major order; `back` moves the other way. Throws Error when there are not
/// as many shifts as dims.
Tensor roll(const Tensor& x, const Shape& shifts, const Shape& dims, bool back = false);

/// x, seen in row-major order as [outer, inner], with each slice `times` times: [outer, times, inner].
Tensor repeat_slices(const Tensor& x, int64_t outer, int64_t times, int64_t inner);

/// x [..., rows, columns], contiguous, with zeros where column - row < diagonal (upper) or > diagonal
/// (lower). Throws Error below 2 dimensions.
Tensor triangle(const Tensor& x, int64_t diagonal, bool upper);

}  // namespace tern::kernels
