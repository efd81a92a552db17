#include <tern/nn/conv.h>

#include <tern/nn/init.h>

#include <fmt/format.h>

namespace tern::nn {
namespace {

void check_sizes(const char* layer, int64_t in_channels, int64_t out_channels, int64_t groups,
                 const kernels::Windows& windows) {
  kernels::check_windows(layer, windows);
  check(in_channels >= 0 && out_channels >= 0, layer, ": channels must not be negative, got ", in_channels,
        " and ", out_channels);
  check(groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0, layer, ": ", in_channels,
        " input and ", out_channels, " output channels must be multiples of groups = ", groups);
}

// A weight, and a bias if it is wanted, from what one unit sums: the weight's sizes but the first.
void start(Tensor& weight, Tensor& bias, const Shape& shape, int64_t out_channels, bool with_bias) {
  Shape unit = shape;
  unit.erase(0);
  weight = init::default_parameter(shape, unit.numel());
  if (with_bias) bias = init::default_parameter({out_channels}, unit.numel());
}

std::string pair(const Size2& size) { return fmt::format("({}, {})", size.h, size.w); }

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size, const Conv2dOptions& o)
    : options_{o.stride, o.padding, o.dilation, o.groups} {
  check_sizes("Conv2d", in_channels, out_channels, o.groups, {kernel_size, o.stride, o.padding, o.dilation});
  start(weight, bias, {out_channels, in_channels / o.groups, kernel_size.h, kernel_size.w}, out_channels,
        o.bias);
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

Conv1d::Conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv1dOptions& o)
    : options_{o.stride, o.padding, o.dilation, o.groups} {
  check_sizes("Conv1d", in_channels, out_channels, o.groups, {kernel_size, o.stride, o.padding, o.dilation});
  start(weight, bias, {out_channels, in_channels / o.groups, kernel_size}, out_channels, o.bias);
}

void Conv1d::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

std::string Conv1d::describe() const {
  std::string text =
      fmt::format("Conv1d({}, {}, kernel_size=({},), stride=({},)", weight.size(1) * options_.groups,
                  weight.size(0), weight.size(2), options_.stride);
  if (options_.padding != 0) text += fmt::format(", padding=({},)", options_.padding);
  if (options_.dilation != 1) text += fmt::format(", dilation=({},)", options_.dilation);
  if (options_.groups != 1) text += fmt::format(", groups={}", options_.groups);
  return text + (bias.defined() ? ")" : ", bias=false)");
}

ConvTranspose2d::ConvTranspose2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size,
                                 const ConvTranspose2dOptions& o)
    : options_{o.stride, o.padding, o.output_padding, o.groups, o.dilation} {
  check_sizes("ConvTranspose2d", in_channels, out_channels, o.groups,
              {kernel_size, o.stride, o.padding, o.dilation});
  start(weight, bias, {in_channels, out_channels / o.groups, kernel_size.h, kernel_size.w}, out_channels,
        o.bias);
}

void ConvTranspose2d::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

std::string ConvTranspose2d::describe() const {
  std::string text = fmt::format("ConvTranspose2d({}, {}, kernel_size={}, stride={}", weight.size(0),
                                 weight.size(1) * options_.groups, pair({weight.size(2), weight.size(3)}),
                                 pair(options_.stride));
  if (options_.padding != Size2(0)) text += ", padding=" + pair(options_.padding);
  if (options_.dilation != Size2(1)) text += ", dilation=" + pair(options_.dilation);
  if (options_.output_padding != Size2(0)) text += ", output_padding=" + pair(options_.output_padding);
  if (options_.groups != 1) text += fmt::format(", groups={}", options_.groups);
  return text + (bias.defined() ? ")" : ", bias=false)");
}

}  // namespace tern::nn
