#include <tern/nn/init.h>

#include <tern/core/random.h>
#include <tern/kernels/fill.h>

#include <cmath>

namespace tern::nn::init {

void uniform_(const Tensor& x, double low, double high) {
  kernels::uniform(x, low, high, default_generator(x.device()));
}

void normal_(const Tensor& x, double mean, double std) {
  kernels::normal(x, mean, std, default_generator(x.device()));
}

void constant_(const Tensor& x, double value) {
  Scalar(value).check_fits(x.dtype(), "constant_");
  kernels::fill(x, value);
}

Fans fans(const Tensor& weight) {
  check(weight.dim() >= 2, "init: needs a weight of at least 2 dimensions, got ", weight.shape());
  Shape in = weight.shape(), out = in;
  in.erase(0), out.erase(1);
  return {in.numel(), out.numel()};
}

void kaiming_uniform_(const Tensor& weight, double a) {
  const int64_t fan_in = fans(weight).in;
  const double bound = fan_in > 0 ? std::sqrt(6.0 / ((1 + a * a) * static_cast<double>(fan_in))) : 0;
  uniform_(weight, -bound, bound);
}

Tensor default_parameter(const Shape& shape, int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  Tensor parameter = empty(shape);
  uniform_(parameter, -bound, bound);
  return parameter.requires_grad_();
}

}  // namespace tern::nn::init
