// What the losses that compare input and target element by element are made of.
#pragma once

#include <tern/kernels/loss.h>

namespace tern {

/// The loss of each element, or the sum of all divided by `divisor`, recorded as `operation` with gradients
/// of input and target.
Tensor pair_loss(const char* operation, const LossMath& math, const kernels::LossOperands& operands,
                 bool each, double divisor);

}  // namespace tern
