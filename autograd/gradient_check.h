// Checks of gradients, for operations and layers of one's own.
#pragma once

#include <tern/core/tensor.h>

#include <functional>
#include <vector>

namespace tern {

struct GradientCheckOptions {
  double eps = 1e-6;   ///< half the distance of the central difference
  double atol = 1e-5;  ///< |analytic - numeric| may be atol + rtol |numeric|
  double rtol = 1e-3;
};

/// Holds that the gradients of `function` with respect to those of `inputs` that require one equal central
/// differences, and that computing them twice gives the same bits. Inputs are leaves of float64, of any
/// strides that do not overlap; `function` is called many times and must depend on them alone (no fresh
/// random numbers). A result with several elements is weighted with fixed numbers. Throws Error naming input,
/// element and both values at the first difference, and for inputs that do not qualify. The tolerances are
/// those of torch.autograd.gradcheck.
void gradient_check(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                    const std::vector<Tensor>& inputs, const GradientCheckOptions& options = {});

/// The leaves that require a gradient and that `result` depends on, each once: where backward(result) would
/// write.
std::vector<Tensor> leaves_of(const Tensor& result);

}  // namespace tern
