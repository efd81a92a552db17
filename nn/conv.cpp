#include <tern/nn/conv.h>

#include <tern/autograd/functional.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

namespace tern::nn {
namespace {

Shape weight_shape(int64_t in_channels, int64_t out_channels, Size2 kernel, int64_t groups) {
  check(groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0, "Conv2d: ", in_channels,
        " input and ", out_channels, " output channels must be multiples of groups = ", groups);
  return {out_channels, in_channels / groups, kernel.h, kernel.w};
}

std::string pair(const Size2& size) { return fmt::format("({}, {})", size.h, size.w); }

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size, const Conv2dOptions& o)
    : options_{o.stride, o.padding, o.dilation, o.groups} {
  const Shape shape = weight_shape(in_channels, out_channels, kernel_size, o.groups);
  const int64_t fan_in = shape[1] * shape[2] * shape[3];
  weight = init::default_parameter(shape, fan_in);
  if (o.bias) bias = init::default_parameter({out_channels}, fan_in);
}

Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight, bias, options_); }

void Conv2d::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

std::string Conv2d::describe() const {
  std::string text =
      fmt::format("Conv2d({}, {}, kernel_size={}, stride={}", weight.size(1) * options_.groups,
                  weight.size(0), pair({weight.size(2), weight.size(3)}), pair(options_.stride));
  if (options_.padding != Size2(0)) text += ", padding=" + pair(options_.padding);
  if (options_.dilation != Size2(1)) text += ", dilation=" + pair(options_.dilation);
  if (options_.groups != 1) text += fmt::format(", groups={}", options_.groups);
  return text + (bias.defined() ? ")" : ", bias=false)");
}

}  // namespace tern::nn
