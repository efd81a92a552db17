#include <tern/kernels/group_norm.h>

#include <tern/kernels/channel_passes.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>

#include <cmath>

namespace tern::kernels {
namespace {

void check_group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias) {
  check(is_floating_point(x.dtype()), "group_norm: needs a floating-point tensor, got ", x.dtype());
  check(x.dim() >= 2, "group_norm: input must be [N, C] or [N, C, …], got ", x.shape());
  check(groups >= 1 && x.size(1) % groups == 0, "group_norm: the channels of input ", x.shape(),
        " must be a multiple of groups = ", groups);
  check_device_kernels(x.device(), "group_norm");
  check_norm_parameter("group_norm", "weight", weight, {x.size(1)}, x);
  check_norm_parameter("group_norm", "bias", bias, {x.size(1)}, x);
  check(values_per_channel(x, true) > 0, "group_norm: input ", x.shape(), " has empty channels");
  check(x.numel() != groups, "group_norm: needs more than one value per group, got input ", x.shape(),
        " with ", groups, " groups");
}

// result[n][c] = value(element n C + c, c), float64.
template <class Value>
Tensor per_channel(const Tensor& like, Value&& value) {
  const Tensor result = empty(like.shape(), float64, like.device());
  double* to = result.data<double>();
  const int64_t channels = like.size(1);
  for (int64_t i = 0; i < result.numel(); ++i) to[i] = value(i, channels > 0 ? i % channels : 0);
  return result;
}

// Sums over samples, [N, C] to [C].
template <class Value>
Tensor per_parameter(const Tensor& like, Value&& value) {
  const Tensor result = wide_parameter(Tensor(), like.size(1), 0, like.device());
  double* to = result.data<double>();
  for (int64_t n = 0; n < like.size(0); ++n) {
    for (int64_t c = 0; c < like.size(1); ++c) to[c] += value(n * like.size(1) + c);
  }
  return result;
}

}  // namespace

GroupNorm group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  check_group_norm(x, groups, weight, bias);
  const Tensor input = channel_order(x);
  const ChannelMoments moments = channel_moments(input, true);
  const double *mean = moments.mean.data<double>(), *m2 = moments.m2.data<double>();
  const int64_t size = x.size(1) / groups;
  const auto values = static_cast<double>(values_per_channel(x, true)), share = 1 / static_cast<double>(size);
  GroupNorm result{Tensor(), empty_like(moments.mean), empty_like(moments.mean)};
  double *means = result.mean.data<double>(), *rstds = result.rstd.data<double>();
  for (int64_t first = 0; first < moments.mean.numel(); first += size) {
    double common = 0, sum = 0;
    for (int64_t c = first; c < first + size; ++c) common += mean[c] * share;
    for (int64_t c = first; c < first + size; ++c)
      sum += m2[c] + values * (mean[c] - common) * (mean[c] - common);
    const double rstd = 1 / std::sqrt(sum * share / values + eps);
    for (int64_t c = first; c < first + size; ++c) means[c] = common, rstds[c] = rstd;
  }
  const Tensor factor = wide_parameter(weight, x.size(1), 1, x.device()),
               term = wide_parameter(bias, x.size(1), 0, x.device());
  const double *w = factor.data<double>(), *b = term.data<double>();
  const Tensor scale = per_channel(result.mean, [&](int64_t i, int64_t c) { return w[c] * rstds[i]; });
  const Tensor shift = per_channel(result.mean, [&](int64_t, int64_t c) { return b[c]; });
  result.y = to(channel_normalize(input, result.mean, scale, shift), x.dtype());
  return result;
}

// With s = sum of dy and t = sum of dy (x - mean) per channel, S and T their sums over a group times weight:
// dweight = t rstd, dbias = s, dx = rstd (dy weight - S / count - (x - mean) rstd^2 T / count).
NormGradients group_norm_backward(const Tensor& dy, const Tensor& x, int64_t groups, const GroupNorm& forward,
                                  const Tensor& weight, DType bias_dtype, NormWants wants) {
  const Tensor input = channel_order(x), upstream = channel_order_of(dy, input);
  const ChannelSums sums = channel_sums(upstream, input, forward.mean);
  const double *s = sums.dy.data<double>(), *t = sums.dy_offset.data<double>(),
               *r = forward.rstd.data<double>();
  NormGradients result;
  if (wants.weight)
    result.dweight = to(per_parameter(sums.dy, [&](int64_t i) { return t[i] * r[i]; }), weight.dtype());
  if (wants.bias) result.dbias = to(per_parameter(sums.dy, [&](int64_t i) { return s[i]; }), bias_dtype);
  if (!wants.x) return result;
  const Tensor factor = wide_parameter(weight, x.size(1), 1, x.device());
  const double* w = factor.data<double>();
  const int64_t size = x.size(1) / groups, channels = x.size(1);
  const double share = 1 / static_cast<double>(values_per_channel(x, true) * size);
  const Tensor b = empty_like(sums.dy), c = empty_like(sums.dy);
  double *slope = b.data<double>(), *term = c.data<double>();
  for (int64_t first = 0; first < b.numel(); first += size) {
    double sum = 0, product = 0;
    for (int64_t i = first; i < first + size; ++i)
      sum += w[i % channels] * s[i], product += w[i % channels] * t[i];
    for (int64_t i = first; i < first + size; ++i) {
      slope[i] = -r[i] * r[i] * r[i] * product * share;
      term[i] = -r[i] * sum * share;
    }
  }
  const Tensor a = per_channel(sums.dy, [&](int64_t i, int64_t channel) { return w[channel] * r[i]; });
  result.dx = to(channel_gradient(upstream, input, forward.mean, a, b, c), x.dtype());
  return result;
}

}  // namespace tern::kernels
