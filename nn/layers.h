// Layers without parameters: pooling, dropout, flattening; activations come with them.
#pragma once

#include <tern/autograd/functional.h>
#include <tern/autograd/views.h>
#include <tern/nn/activations.h>
#include <tern/nn/module.h>

namespace tern::nn {

/// The dimensions from `start_dim` to `end_dim` as one.
class Flatten : public Layer<Flatten> {
 public:
  /// Throws Error when end_dim comes before start_dim.
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1);
  Tensor forward(const Tensor& x) { return flatten(x, start_dim_, end_dim_); }
  std::string describe() const override;
  /// True for what lies between images and a Linear: everything but the first dimension.
  bool is_per_sample() const { return start_dim_ == 1 && end_dim_ == -1; }

 private:
  int64_t start_dim_, end_dim_;
};

/// The largest element of each window of [N, C, H, W] (or [C, H, W]).
class MaxPool2d : public Layer<MaxPool2d> {
 public:
  /// Throws Error for a kernel, stride or dilation below 1 and a padding that is negative or too large.
  explicit MaxPool2d(Size2 kernel_size, const MaxPool2dOptions& options = {});
  Tensor forward(const Tensor& x) { return max_pool2d(x, kernel_size_, options_); }
  std::string describe() const override;
  /// True for windows of 2x2 side by side, which a convolution before it can fill itself.
  bool is_halving() const;

 private:
  Size2 kernel_size_;
  MaxPool2dOptions options_;
};

/// Images [N, C, H, W] in another size: interpolate() with its options.
class Upsample : public Layer<Upsample> {
 public:
  explicit Upsample(const InterpolateOptions& options) : options_(options) {}
  Tensor forward(const Tensor& x) { return interpolate(x, options_); }
  std::string describe() const override;

 private:
  InterpolateOptions options_;
};

/// max_pool1d() of [N, C, L] (or [C, L]).
class MaxPool1d : public Layer<MaxPool1d> {
 public:
  explicit MaxPool1d(int64_t kernel_size, const MaxPool1dOptions& options = {})
      : kernel_size_(kernel_size), options_(options) {}
  Tensor forward(const Tensor& x) { return max_pool1d(x, kernel_size_, options_); }
  std::string describe() const override;

 private:
  int64_t kernel_size_;
  MaxPool1dOptions options_;
};

/// The average of each window of [N, C, H, W] (or [C, H, W]).
class AvgPool2d : public Layer<AvgPool2d> {
 public:
  explicit AvgPool2d(Size2 kernel_size, const AvgPool2dOptions& options = {})
      : kernel_size_(kernel_size), options_(options) {}
  Tensor forward(const Tensor& x) { return avg_pool2d(x, kernel_size_, options_); }
  std::string describe() const override;

 private:
  Size2 kernel_size_;
  AvgPool2dOptions options_;
};

/// adaptive_avg_pool2d() of [N, C, H, W] (or [C, H, W]): AdaptiveAvgPool2d(1) averages each channel.
class AdaptiveAvgPool2d : public Layer<AdaptiveAvgPool2d> {
 public:
  explicit AdaptiveAvgPool2d(const OutputSize2& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& x) { return adaptive_avg_pool2d(x, output_size_); }
  std::string describe() const override;

 private:
  OutputSize2 output_size_;
};

/// In training, zeroes elements with probability p and scales the others by 1 / (1 - p); nothing in
/// evaluation.
class Dropout : public Layer<Dropout> {
 public:
  /// Throws Error unless 0 <= p <= 1.
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& x) { return dropout(x, p_, is_training()); }
  std::string describe() const override;

 private:
  double p_;
};

/// The same with whole channels: planes of [N, C, H, W] or rows of [N, C, L].
class Dropout2d : public Layer<Dropout2d> {
 public:
  /// Throws Error unless 0 <= p <= 1.
  explicit Dropout2d(double p = 0.5);
  Tensor forward(const Tensor& x) { return dropout2d(x, p_, is_training()); }
  std::string describe() const override;

 private:
  double p_;
};

}  // namespace tern::nn
