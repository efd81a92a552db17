#include <tern/nn/normalization.h>

#include <tern/autograd/checkpoint.h>
#include <tern/autograd/functional.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/fill.h>

#include <fmt/format.h>

namespace tern::nn {
namespace {

// A parameter of ones or zeros, undefined unless it is wanted.
Tensor parameter_of(const Shape& shape, double value, bool wanted) {
  return wanted ? full(shape, value).requires_grad_() : Tensor();
}

// "(2, 3)", and "(3,)" for a single size, as PyTorch prints.
std::string tuple(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return shape.dim() == 1 ? '(' + text + ",)" : '(' + text + ')';
}

template <int spatial_dims>
constexpr const char* class_name = spatial_dims == any_dims ? "SyncBatchNorm"
                                   : spatial_dims == 1      ? "BatchNorm1d"
                                                            : "BatchNorm2d";
template <int spatial_dims>
constexpr const char* input_shape = spatial_dims == any_dims ? "[N, C, …]"
                                    : spatial_dims == 1      ? "[N, C] or [N, C, L]"
                                                             : "[N, C, H, W]";

}  // namespace

template <int spatial_dims>
BatchNorm<spatial_dims>::BatchNorm(int64_t num_features, const BatchNormOptions& options)
    : weight(parameter_of({num_features}, 1, options.affine)),
      bias(parameter_of({num_features}, 0, options.affine && options.bias)),
      num_features_(num_features),
      options_(options) {
  if (!options.track_running_stats) return;
  running_mean = zeros({num_features});
  running_var = ones({num_features});
  num_batches_tracked = zeros({}, int64);
}

template <int spatial_dims>
Tensor BatchNorm<spatial_dims>::forward(const Tensor& x) {
  constexpr int least = spatial_dims == 2 ? 4 : 2,
                most = spatial_dims == any_dims ? max_dims : spatial_dims + 2;
  check(x.dim() >= least && x.dim() <= most, class_name<spatial_dims>, ": input must be ",
        input_shape<spatial_dims>, ", got ", x.shape());
  check(x.size(1) == num_features_, class_name<spatial_dims>, ": needs ", num_features_,
        " channels, got input ", x.shape());
  const bool tracks = running_mean.defined(), counts = tracks && this->is_training() && !is_recomputing();
  const int64_t batches = counts ? num_batches_tracked.item<int64_t>() + 1 : 0;
  const double average = counts ? 1 / static_cast<double>(batches) : 0;
  Tensor y =
      batch_norm(x, running_mean, running_var, weight, bias,
                 {.training = this->is_training() || !tracks,
                  .momentum = options_.momentum.value_or(average),
                  .eps = options_.eps,
                  .peers = this->is_training() && this->find_peers() ? this->find_peers()() : nullptr});
  if (counts) kernels::fill(num_batches_tracked, batches);
  return y;
}

template <int spatial_dims>
void BatchNorm<spatial_dims>::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
  visitor.buffer("running_mean", running_mean);
  visitor.buffer("running_var", running_var);
  visitor.buffer("num_batches_tracked", num_batches_tracked);
}

template <int spatial_dims>
std::string BatchNorm<spatial_dims>::describe() const {
  return fmt::format("{}({}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={})",
                     this->find_peers() ? "SyncBatchNorm" : class_name<spatial_dims>, num_features_,
                     options_.eps, options_.momentum ? fmt::format("{}", *options_.momentum) : "none",
                     weight.defined(), bias.defined(), running_mean.defined());
}

template class BatchNorm<any_dims>;
template class BatchNorm<1>;
template class BatchNorm<2>;

LayerNorm::LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options)
    : weight(parameter_of(normalized_shape, 1, options.elementwise_affine)),
      bias(parameter_of(normalized_shape, 0, options.elementwise_affine && options.bias)),
      shape_(normalized_shape),
      eps_(options.eps) {}

Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, shape_, weight, bias, eps_); }

void LayerNorm::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

std::string LayerNorm::describe() const {
  return fmt::format("LayerNorm({}, eps={}, elementwise_affine={}, bias={})", tuple(shape_), eps_,
                     weight.defined(), bias.defined());
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options)
    : num_groups_(num_groups), num_channels_(num_channels), eps_(options.eps) {
  check(num_groups >= 1 && num_channels % num_groups == 0, "GroupNorm: ", num_channels,
        " channels must be a multiple of ", num_groups, " groups");
  weight = parameter_of({num_channels}, 1, options.affine);
  bias = parameter_of({num_channels}, 0, options.affine && options.bias);
}

Tensor GroupNorm::forward(const Tensor& x) { return group_norm(x, num_groups_, weight, bias, eps_); }

void GroupNorm::members(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

std::string GroupNorm::describe() const {
  return fmt::format("GroupNorm({}, {}, eps={}, affine={}, bias={})", num_groups_, num_channels_, eps_,
                     weight.defined(), bias.defined());
}

RMSNorm::RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options)
    : weight(parameter_of(normalized_shape, 1, options.elementwise_affine)),
      shape_(normalized_shape),
      eps_(options.eps) {}

Tensor RMSNorm::forward(const Tensor& x) { return rms_norm(x, shape_, weight, eps_); }

void RMSNorm::members(Visitor& visitor) { visitor.parameter("weight", weight); }

std::string RMSNorm::describe() const {
  return fmt::format("RMSNorm({}, eps={}, elementwise_affine={})", tuple(shape_),
                     eps_ ? fmt::format("{}", *eps_) : "none", weight.defined());
}

}  // namespace tern::nn
