// Dropout.
#pragma once

#include <tern/core/random.h>
#include <tern/core/tensor.h>

namespace tern::kernels {

/// y = x / (1 - p) where an element is kept (with probability 1 - p), 0 where it is dropped, whatever it was.
/// Which ones are kept depends on `state` (from Generator::reserve(x.numel())) and the element's row-major
/// index alone: called with dy, the same p and state it is its own backward, and nothing need be stored. Any
/// floating-point x; y is dense in x's order of dimensions. Throws Error for p outside [0, 1].
Tensor dropout(const Tensor& x, double p, RandomState state);

}  // namespace tern::kernels
