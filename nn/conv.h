// Convolution layers. Weights and biases start from U(-1 / sqrt(f), 1 / sqrt(f)), f the inputs of one sum.
#pragma once

#include <tern/autograd/functional.h>
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
/// [out_channels, in_channels / groups, KH, KW], bias [out_channels]; f = in_channels / groups * KH * KW.
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

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// y [N, out_channels, OL] from x [N, in_channels, L] (or without N). weight [out_channels, in_channels /
/// groups, K], bias [out_channels]; f = in_channels / groups * K.
class Conv1d : public Layer<Conv1d> {
 public:
  Conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv1dOptions& options = {});
  Tensor forward(const Tensor& x) { return conv1d(x, weight, bias, options_); }
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight, bias;

 private:
  tern::Conv1dOptions options_;
};

struct ConvTranspose2dOptions {
  Size2 stride = 1;
  Size2 padding = 0;
  Size2 output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Size2 dilation = 1;
};

/// conv_transpose2d() of x [N, in_channels, H, W] (or without N); channels-last. weight [in_channels,
/// out_channels / groups, KH, KW], bias [out_channels]; f = out_channels / groups * KH * KW, as in PyTorch.
class ConvTranspose2d : public Layer<ConvTranspose2d> {
 public:
  ConvTranspose2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size,
                  const ConvTranspose2dOptions& options = {});
  Tensor forward(const Tensor& x) { return conv_transpose2d(x, weight, bias, options_); }
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight, bias;

 private:
  tern::ConvTranspose2dOptions options_;
};

}  // namespace tern::nn
