// Clipping of gradients, between backward() and step(). Parameters without a gradient are passed over.
#pragma once

#include <tern/core/tensor.h>

#include <vector>

namespace tern::optim {

/// Scales all gradients by max_norm / (norm + 1e-6) where that is below 1, `norm` being the p-norm of all
/// elements of all gradients together, p = norm_type (infinity gives the largest size). Returns the norm as a
/// 0-d tensor of float32, or float64 when a gradient is. It is computed in double, scaled where squares would
/// overflow or vanish (Pascanu et al., arXiv:1211.5063).
///
/// A norm that is infinite or NaN throws Error that names the first parameter at fault by its position; with
/// error_if_nonfinite off it is returned instead (PyTorch, whose default that is, would scale by it). Either
/// way the gradients stay as they are. Throws Error, too, for a negative max_norm and unless norm_type > 0.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = true);

/// Brings all elements of all gradients to between -clip_value and clip_value; NaN stays NaN. Throws Error
/// for a negative clip_value.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

}  // namespace tern::optim
