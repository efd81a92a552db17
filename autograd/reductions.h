// Reductions over dimensions: an empty list means all. With keepdim the reduced dimensions stay with size 1.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/reduce.h>

#include <concepts>
#include <optional>

namespace tern {

/// Sums of integers and bool are int64.
Tensor sum(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// Floating-point only. The mean of nothing is NaN.
Tensor mean(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// Products of integers and bool are int64; of nothing: 1. The gradient is exact where elements are zero.
Tensor prod(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
/// The same over one dimension: sum(x, 1).
template <std::integral Dim>
Tensor sum(const Tensor& x, Dim dim, bool keepdim = false) {
  return sum(x, Shape{static_cast<int64_t>(dim)}, keepdim);
}
template <std::integral Dim>
Tensor mean(const Tensor& x, Dim dim, bool keepdim = false) {
  return mean(x, Shape{static_cast<int64_t>(dim)}, keepdim);
}
template <std::integral Dim>
Tensor prod(const Tensor& x, Dim dim, bool keepdim = false) {
  return prod(x, Shape{static_cast<int64_t>(dim)}, keepdim);
}

using kernels::ValuesAndIndices;
/// The largest element. NaN wins; of equals, the gradient goes to the first.
Tensor max(const Tensor& x);
/// The smallest element, like max().
Tensor min(const Tensor& x);
/// The largest elements along `dim` and where they are: the first of equals, which gets the gradient.
ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim = false);
/// The smallest elements along `dim`, like max().
ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim = false);

/// int64 positions of the largest (smallest) elements along `dim`, or in the flattened tensor. Not
/// differentiable.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

/// bool: is any element (are all elements) not zero? Not differentiable.
Tensor any(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, const Shape& dims = {}, bool keepdim = false);

}  // namespace tern
