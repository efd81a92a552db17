// Softmax and its logarithm along one dimension, and their gradients.
//
// Computed from differences to the maximum, so nothing overflows. Floating-point tensors; half types compute
// in float32 and round once. A row of nothing but -inf gives NaN, as 0/0 (and as PyTorch); so does a row with
// NaN or +inf.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// y = exp(x) / sum(exp(x)) along `dim`; shaped as x. Throws Error for integers.
Tensor softmax(const Tensor& x, int64_t dim);
/// dx = y * (dy - sum(dy * y)) along `dim`; y is softmax's result.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);

/// y = x - log(sum(exp(x))) along `dim`; shaped as x. Throws Error for integers.
Tensor log_softmax(const Tensor& x, int64_t dim);
/// dx = dy - exp(y) * sum(dy) along `dim`; y is log_softmax's result.
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);

}  // namespace tern::kernels
