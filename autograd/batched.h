// Images without a batch dimension, on their way through operations that need one.
#pragma once

#include <tern/autograd/views.h>

namespace tern {

/// Runs `operation` on images [N, C, H, W]; a single image [C, H, W] becomes a batch of one on the way.
template <class Operation>
Tensor batched(const Tensor& x, Operation&& operation) {
  return x.dim() == 3 ? squeeze(operation(unsqueeze(x, 0)), 0) : operation(x);
}

}  // namespace tern
