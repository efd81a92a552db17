// Initial values of parameters; names and formulas are those of torch.nn.init. All write in place, draw from
// the default generator of the tensor's device, and are not recorded.
#pragma once

#include <tern/core/tensor.h>

namespace tern::nn::init {

void uniform_(const Tensor& x, double low = 0, double high = 1);
void normal_(const Tensor& x, double mean = 0, double std = 1);
/// Throws Error for a number that x's dtype does not hold.
void constant_(const Tensor& x, double value);

struct Fans {
  int64_t in, out;
};
/// Inputs and outputs that one unit is connected with: sizes 1 and 0, each times the remaining sizes. Throws
/// Error below two dimensions.
Fans fans(const Tensor& weight);

/// U(-b, b) with b = gain sqrt(3 / fan_in), gain = sqrt(2 / (1 + a^2)) (He et al., 2015; leaky ReLU of slope
/// a).
void kaiming_uniform_(const Tensor& weight, double a = 0);

/// A new parameter of U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)): PyTorch's start for the weights and biases of
/// Linear and Conv2d.
Tensor default_parameter(const Shape& shape, int64_t fan_in);

}  // namespace tern::nn::init
