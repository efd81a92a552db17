#include <tern/nn/linear.h>

#include <tern/autograd/functional.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

namespace tern::nn {

namespace {

Shape weight_shape(int64_t in_features, int64_t out_features) {
  check(in_features >= 0 && out_features >= 0, "Linear: features must not be negative, got ", in_features,
        " and ", out_features);
  return {out_features, in_features};
}

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, const LinearOptions& options)
    : weight(init::default_parameter(weight_shape(in_features, out_features), in_features)),
      bias(options.bias ? init::default_parameter({out_features}, in_features) : Tensor()) {}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

void Linear::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

std::string Linear::describe() const {
  return fmt::format("Linear(in_features={}, out_features={}, bias={})", weight.size(1), weight.size(0),
                     bias.defined());
}

}  // namespace tern::nn
