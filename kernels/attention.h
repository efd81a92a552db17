// The weights of attention: softmax with a mask, in place, on float32 or float64.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// scores [..., L, S], contiguous, become softmax(scores + mask) along the last dimension. `mask` broadcasts
/// to them: bool (true takes part), of their dtype (added), or undefined; `causal` lets query i see keys 0,
/// …, i. A row without a score above -inf becomes zeros.
void attention_weights_(const Tensor& scores, const Tensor& mask, bool causal);

/// dweights, contiguous, becomes the gradient of the scores (and of an added mask).
void attention_weights_backward_(const Tensor& weights, const Tensor& dweights);

}  // namespace tern::kernels
