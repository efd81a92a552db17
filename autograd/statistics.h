// Reductions made of others: variance, norms, extremes that share their gradient. An empty list of dimensions
// means all; with keepdim the reduced dimensions stay with size 1. Floating-point tensors only, float16 and
// bfloat16 are computed in float32 and rounded once. All are differentiable.
#pragma once

#include <tern/core/tensor.h>

namespace tern {

/// Mean squared distance from the mean, exact to x's rounding however large the mean, times n / (n -
/// correction) for n elements: with 1 the unbiased estimate of a sample, with 0 that of a whole population.
/// NaN or infinite where n <= correction.
Tensor var(const Tensor& x, const Shape& dims = {}, double correction = 1, bool keepdim = false);
/// The square root of var(), PyTorch's std (which `using namespace tern` would confuse with std::). Its
/// gradient is 0 where it is 0.
Tensor stddev(const Tensor& x, const Shape& dims = {}, double correction = 1, bool keepdim = false);

/// The p-norm (sum |x|^p)^(1/p) of all elements together, for p > 0, right where the powers overflow or
/// vanish too; infinity gives the largest |x|. Its gradient is 0 where it is 0. Throws Error for other p.
Tensor norm(const Tensor& x, double p = 2, const Shape& dims = {}, bool keepdim = false);

/// log(sum(exp(x))) without overflow; -inf for nothing but -inf.
Tensor logsumexp(const Tensor& x, const Shape& dims, bool keepdim = false);

/// The largest (smallest) elements; NaN wins. Of equals each gets the same share of the gradient, unlike in
/// max(). Throws Error when a reduced dimension is empty.
Tensor amax(const Tensor& x, const Shape& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const Shape& dims = {}, bool keepdim = false);

}  // namespace tern
