// Adding up gradients. Internal to autograd.
#pragma once

#include <tern/core/tensor.h>

namespace tern::detail {

/// into += value, where an undefined `into` becomes `value` itself. Memory that somebody else can see is
/// never changed.
void accumulate(Tensor& into, Tensor value);

/// Adds `value` to the gradient of a leaf, in the leaf's strides and, where it has one, in its slot.
void accumulate_leaf(TensorImpl& leaf, Tensor value);

}  // namespace tern::detail
