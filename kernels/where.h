// Choosing between two tensors, element by element.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// a where `condition` (bool) is true, b elsewhere; all three broadcast. The dtype is result_type(a, b).
/// Throws Error when shapes do not broadcast, devices differ or the condition is not bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace tern::kernels
