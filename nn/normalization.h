// Layers that normalise: batch, layer, group and RMS norm; the formulas are those of autograd/functional.h.
// Weights start as ones, biases as zeros.
#pragma once

#include <tern/core/tensor.h>
#include <tern/nn/module.h>

#include <optional>

namespace tern::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  ///< none: running statistics are the mean over all batches
  bool affine = true;                    ///< whether there are weight and bias
  bool bias = true;
  bool track_running_stats = true;  ///< without, evaluation too uses the batch's statistics
};

inline constexpr int any_dims = 0;

/// batch_norm() of [N, C] or [N, C, L] (BatchNorm1d), of [N, C, H, W] (BatchNorm2d), of [N, C, …] (any_dims,
/// what SyncBatchNorm is made of). Parameters weight and bias [num_features]; buffers running_mean,
/// running_var (from 0 and 1) and num_batches_tracked (int64), which each batch in training changes. Throws
/// Error for other shapes and in training for one value per channel, and changes no buffer then.
template <int spatial_dims>
class BatchNorm : public Layer<BatchNorm<spatial_dims>> {
 public:
  explicit BatchNorm(int64_t num_features, const BatchNormOptions& options = {});
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;
  std::string describe() const override;
  /// Makes this layer and its copies normalise one batch together with those that `find` tells, in training.
  /// SyncBatchNorm's part.
  void synchronise(FindPeers find) { this->set_find_peers(std::move(find)); }

  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  int64_t num_features_;
  BatchNormOptions options_;
};

extern template class BatchNorm<any_dims>;
extern template class BatchNorm<1>;
extern template class BatchNorm<2>;
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};

/// layer_norm() over the last dimensions, of shape `normalized_shape`.
class LayerNorm : public Layer<LayerNorm> {
 public:
  explicit LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options = {});
  explicit LayerNorm(int64_t size, const LayerNormOptions& options = {}) : LayerNorm(Shape{size}, options) {}
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight, bias;

 private:
  Shape shape_;
  double eps_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  bool bias = true;
};

/// group_norm() of [N, num_channels, …]. Throws Error unless groups divide the channels.
class GroupNorm : public Layer<GroupNorm> {
 public:
  GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options = {});
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight, bias;

 private:
  int64_t num_groups_, num_channels_;
  double eps_;
};

struct RMSNormOptions {
  std::optional<double> eps = {};  ///< by default rms_norm()'s
  bool elementwise_affine = true;
};

/// rms_norm() over the last dimensions, of shape `normalized_shape`.
class RMSNorm : public Layer<RMSNorm> {
 public:
  explicit RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options = {});
  explicit RMSNorm(int64_t size, const RMSNormOptions& options = {}) : RMSNorm(Shape{size}, options) {}
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight;

 private:
  Shape shape_;
  std::optional<double> eps_;
};

}  // namespace tern::nn
