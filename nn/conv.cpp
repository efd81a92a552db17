#include <tern/nn/conv.h>

#include <tern/autograd/functional.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

namespace tern::nn {
namespace {

Shape weight_shape(int64_t in_channels, int64_t out_channels, Size2 kernel, const Conv2dOptions& o) {
  check(kernel.h >= 1 && kernel.w >= 1, "Conv2d: kernel_size must be at least 1, got ", kernel);
  check(o.stride.h >= 1 && o.stride.w >= 1, "Conv2d: stride must be at least 1, got ", o.stride);
  check(o.padding.h >= 0 && o.padding.w >= 0, "Conv2d: padding must not be negative, got ", o.padding);
  check(o.dilation.h >= 1 && o.dilation.w >= 1, "Conv2d: dilation must be at least 1, got ", o.dilation);
  check(in_channels >= 0 && out_channels >= 0, "Conv2d: channels must not be negative, got ", in_channels,
        " and ", out_channels);
  const int64_t groups = o.groups;
  check(groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0, "Conv2d: ", in_channels,
        " input and ", out_channels, " output channels must be multiples of groups = ", groups);
  return {out_channels, in_channels / groups, kernel.h, kernel.w};
}

std::string pair(const Size2& size) { return fmt::format("({}, {})", size.h, size.w); }

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size, const Conv2dOptions& o)
    : options_{o.stride, o.padding, o.dilation, o.groups} {
  const Shape shape = weight_shape(in_channels, out_channels, kernel_size, o);
  const int64_t fan_in = Shape{shape[1], shape[2], shape[3]}.numel();
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
