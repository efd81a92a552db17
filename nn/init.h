// Initial values of parameters; names and formulas are those of torch.nn.init. All write in place, draw from
// the default generator of the tensor's device, and are not recorded.
#pragma once

#include <tern/core/tensor.h>

#include <optional>

namespace tern::nn::init {

void uniform_(const Tensor& x, double low = 0, double high = 1);
void normal_(const Tensor& x, double mean = 0, double std = 1);
/// Normally distributed, with what lies outside [low, high] drawn again: by the inverse of the distribution
/// function. Throws Error for std <= 0 and unless low < high.
void trunc_normal_(const Tensor& x, double mean = 0, double std = 1, double low = -2, double high = 2);
/// Throws Error for a number that x's dtype does not hold.
void constant_(const Tensor& x, double value);
void ones_(const Tensor& x);
void zeros_(const Tensor& x);
/// Ones on the diagonal, zeros elsewhere. Throws Error unless x has two dimensions.
void eye_(const Tensor& x);

struct Fans {
  int64_t in, out;
};
/// Inputs and outputs that one unit is connected with: sizes 1 and 0, each times the remaining sizes. Throws
/// Error below two dimensions.
Fans fans(const Tensor& weight);

enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu, selu };
/// By how much weights before this function must be larger to keep the variance: 1, 1, 5/3, sqrt(2), sqrt(2 /
/// (1 + slope^2)) and 3/4. `slope` is leaky_relu's, 0.01 unless given; Error with others.
double calculate_gain(Nonlinearity nonlinearity, std::optional<double> slope = {});

/// U(-b, b) with b = gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).
void xavier_uniform_(const Tensor& weight, double gain = 1);
/// N(0, s^2) with s = gain sqrt(2 / (fan_in + fan_out)).
void xavier_normal_(const Tensor& weight, double gain = 1);

enum class FanMode { fan_in, fan_out };
struct KaimingOptions {
  double a = 0;  ///< leaky_relu's slope
  FanMode mode = FanMode::fan_in;
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};
/// U(-b, b) with b = gain sqrt(3 / fan) (He et al., arXiv:1502.01852).
void kaiming_uniform_(const Tensor& weight, const KaimingOptions& options = {});
/// N(0, s^2) with s = gain / sqrt(fan).
void kaiming_normal_(const Tensor& weight, const KaimingOptions& options = {});

/// gain times a random matrix [size 0, the rest] whose rows (columns, where there are fewer of them) are
/// orthonormal, evenly distributed among all such (Saxe et al., arXiv:1312.6120). Throws Error below two
/// dimensions.
void orthogonal_(const Tensor& weight, double gain = 1);

/// A new parameter of U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)): PyTorch's start for the weights and biases of
/// Linear and Conv2d.
Tensor default_parameter(const Shape& shape, int64_t fan_in);

}  // namespace tern::nn::init
