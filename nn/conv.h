// The two-dimensional convolution layer.
#pragma once

#include <tern/kernels/conv.h>
#include <tern/nn/module.h>

namespace tern::nn {

struct Conv2dOptions {
  Size2 stride = 1;
  Size2 padding = 0;
  Size2 dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// y [N, out_channels, OH, OW] from x [N, in_channels, H, W] (or without N); channels-last. weight
/// [out_channels, in_channels / groups, KH, KW] and bias [out_channels] start from U(-1 / sqrt(f), 1 /
/// sqrt(f)), f = in_channels / groups * KH * KW.
class Conv2d : public Layer<Conv2d> {
 public:
  /// Throws Error for negative channels or padding, for a kernel, stride or dilation below 1, and for
  /// channels that are no multiples of `groups`.
  Conv2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size, const Conv2dOptions& options = {});
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;
  std::string describe() const override;
  const tern::Conv2dOptions& options() const { return options_; }

  Tensor weight, bias;

 private:
  tern::Conv2dOptions options_;
};

}  // namespace tern::nn
