// Reductions over dimensions.
//
// `dims` lists the dimensions that disappear (-1 is the last; repeated or missing ones throw Error); an empty
// list means all. With keepdim they stay with size 1. Results are dense; sums are formed in a fixed order for
// any number of threads. float32 sums (and products, where they stay in range) are formed in float32 within
// short runs and in double across them; half types accumulate in float32 and round once.
//
// Maxima and minima: NaN wins over every number; of equals, the first in row-major order is named, and its
// index counts within the reduced dimension (within the whole tensor for a reduction over all).
#pragma once

#include <tern/core/tensor.h>

#include <optional>

namespace tern::kernels {

/// The shape that a reduction of `shape` over `dims` gives. Throws Error naming `operation` as above.
Shape reduced_shape(const Shape& shape, const Shape& dims, bool keepdim, const char* operation);

/// Sums of floating-point tensors keep the dtype; of integers and bool they are int64. Of nothing: 0.
Tensor sum(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// Products, with sum's dtypes. Of nothing: 1.
Tensor prod(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// Floating-point only (Error). Of nothing: NaN.
Tensor mean(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// The root of the sum of squares, which are formed in double: of float32 and half types they neither
/// overflow nor vanish. Floating-point only (Error). Of nothing: 0.
Tensor norm(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// The sum of squares itself, of all elements. NaN and infinities show in it.
double sum_of_squares(const Tensor& x);

/// Largest values, of x's dtype. Throws Error when a reduced dimension is empty.
Tensor max(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// Smallest values; like max().
Tensor min(const Tensor& x, const Shape& dims = {}, bool keepdim = false);

/// int64 positions of the largest values along `dim`, or in the flattened tensor. Throws Error when the
/// reduced dimension is empty.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// Like argmax(), of the smallest values.
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

struct ValuesAndIndices {
  Tensor values;   ///< x's dtype
  Tensor indices;  ///< int64, shaped as values
};

/// max() along one dimension, and where: what backward needs.
ValuesAndIndices max_with_indices(const Tensor& x, int64_t dim, bool keepdim = false);
/// min() along one dimension, and where.
ValuesAndIndices min_with_indices(const Tensor& x, int64_t dim, bool keepdim = false);

/// bool: is any element not zero (NaN counts)? Of nothing: false.
Tensor any(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// bool: are all elements not zero? Of nothing: true.
Tensor all(const Tensor& x, const Shape& dims = {}, bool keepdim = false);

/// x summed over the dimensions along which `shape` was broadcast to x's shape: the gradient of broadcasting.
/// x itself when the shapes are equal. Throws Error when `shape` does not broadcast to x's.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace tern::kernels
