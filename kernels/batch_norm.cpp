#include <tern/kernels/batch_norm.h>

#include <tern/kernels/channel_passes.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>

#include <algorithm>
#include <cmath>

namespace tern::kernels {
namespace {

void check_count(const Tensor& x, double count, const char* where = "") {
  check(count != 1, "batch_norm: training needs more than one value per channel", where, ", got input ",
        x.shape(), "; use drop_last or eval()");
}

// result[i] = value(i), float64 in `like`'s shape.
template <class Value>
Tensor per_channel(const Tensor& like, Value&& value) {
  const Tensor result = empty(like.shape(), float64, like.device());
  double* to = result.data<double>();
  for (int64_t i = 0; i < result.numel(); ++i) to[i] = value(i);
  return result;
}

// One part's moments as they travel: means, sums of squared distances, count.
Tensor packed(const ChannelMoments& moments, double count) {
  const int64_t channels = moments.mean.numel();
  Tensor row = empty({2 * channels + 1}, float64, moments.mean.device());
  double* to = row.data<double>();
  std::copy_n(moments.mean.data<double>(), channels, to);
  std::copy_n(moments.m2.data<double>(), channels, to + channels);
  to[2 * channels] = count;
  return row;
}

// Makes `moments` those of all parts and returns their count. A part joins those before it by (Chan, Golub
// and LeVeque, 1979), with d the distance of the means: mean += d n / (m + n), m2 += m2' + d^2 m n / (m + n).
double join_moments(const ChannelMoments& moments, const Tensor& parts) {
  double *mean = moments.mean.data<double>(), *m2 = moments.m2.data<double>();
  const int64_t channels = moments.mean.numel();
  std::fill_n(mean, channels, 0.0);
  std::fill_n(m2, channels, 0.0);
  double joined = 0;
  for (int64_t i = 0; i < parts.size(0); ++i) {
    const double* part = parts.data<double>() + i * (2 * channels + 1);
    const double count = part[2 * channels];
    if (count == 0) continue;
    const double share = count / (joined + count);
    for (int64_t c = 0; c < channels; ++c) {
      const double distance = part[c] - mean[c];
      mean[c] += distance * share;
      m2[c] += part[channels + c] + distance * distance * joined * share;
    }
    joined += count;
  }
  return joined;
}

}  // namespace

void check_norm_parameter(const char* operation, const char* which, const Tensor& parameter,
                          const Shape& shape, const Tensor& x) {
  if (!parameter.defined()) return;
  const bool fits = parameter.dtype() == x.dtype() ||
                    (is_reduced_floating_point(x.dtype()) && parameter.dtype() == float32);
  check(parameter.shape() == shape && fits && parameter.device() == x.device(), operation, ": ", which,
        " must be ", shape, " of ", x.dtype(), " on ", x.device(), ", got ", parameter.shape(), " of ",
        parameter.dtype(), " on ", parameter.device());
}

Tensor wide_parameter(const Tensor& weight, int64_t count, double otherwise, Device device) {
  if (weight.defined()) return to(contiguous(weight), float64);
  const Tensor result = empty({count}, float64, device);
  fill(result, otherwise);
  return result;
}

void check_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(is_floating_point(x.dtype()), "batch_norm: needs a floating-point tensor, got ", x.dtype());
  check(x.dim() >= 2, "batch_norm: input must be [N, C] or [N, C, …], got ", x.shape());
  check_device_kernels(x.device(), "batch_norm");
  check_norm_parameter("batch_norm", "weight", weight, {x.size(1)}, x);
  check_norm_parameter("batch_norm", "bias", bias, {x.size(1)}, x);
}

BatchMoments batch_moments(const Tensor& x, const BatchPeers* peers) {
  const auto count = static_cast<double>(values_per_channel(x, false));
  if (!peers) check_count(x, count);
  const ChannelMoments moments = channel_moments(channel_order(x), false);
  const double all = peers ? join_moments(moments, peers->gather(packed(moments, count))) : count;
  if (peers) check_count(x, all, " over all ranks");
  const double* m2 = moments.m2.data<double>();
  return {moments.mean, per_channel(moments.m2, [&](int64_t c) { return all > 0 ? m2[c] / all : 0; }), all};
}

void update_running(const Tensor& running_mean, const Tensor& running_var, const BatchMoments& moments,
                    double momentum) {
  if (moments.count == 0) return;
  const auto blend = [&](const Tensor& running, const Tensor& latest, double factor) {
    const Tensor former = wide_parameter(running, 0, 0, running.device());
    const double *old = former.data<double>(), *found = latest.data<double>();
    copy(per_channel(former,
                     [&](int64_t c) { return (1 - momentum) * old[c] + momentum * (factor * found[c]); }),
         running);
  };
  blend(running_mean, moments.mean, 1);
  blend(running_var, moments.var, moments.count / (moments.count - 1));
}

Tensor inverse_deviation(const Tensor& var, double eps) {
  const Tensor wide = wide_parameter(var, 0, 0, var.device());
  const double* v = wide.data<double>();
  return per_channel(wide, [&](int64_t c) { return 1 / std::sqrt(v[c] + eps); });
}

Tensor batch_normalize(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                       const Tensor& bias) {
  const Tensor factor = wide_parameter(weight, x.size(1), 1, x.device()),
               shift = wide_parameter(bias, x.size(1), 0, x.device());
  const double *w = factor.data<double>(), *r = rstd.data<double>();
  const Tensor scale = per_channel(rstd, [&](int64_t c) { return w[c] * r[c]; });
  return to(channel_normalize(channel_order(x), mean, scale, shift), x.dtype());
}

// With s = sum of dy and t = sum of dy (x - mean): dweight = t rstd, dbias = s,
// dx = weight rstd (dy - s / count - (x - mean) rstd^2 t / count).
NormGradients batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                  double count, const Tensor& weight, DType bias_dtype, NormWants wants,
                                  const BatchPeers* peers) {
  const Tensor input = channel_order(x), upstream = channel_order_of(dy, input);
  NormGradients result;
  Tensor both = empty({2, x.size(1)}, float64, x.device());
  const double* r = rstd.data<double>();
  const bool through_moments = count > 0 && wants.x;
  if (through_moments || wants.weight || wants.bias) {
    const ChannelSums sums = channel_sums(upstream, input, mean);
    const double *s = sums.dy.data<double>(), *t = sums.dy_offset.data<double>();
    if (wants.weight)
      result.dweight = to(per_channel(rstd, [&](int64_t c) { return t[c] * r[c]; }), weight.dtype());
    if (wants.bias) result.dbias = to(sums.dy, bias_dtype);
    std::copy(s, s + x.size(1), both.data<double>());
    std::copy(t, t + x.size(1), both.data<double>() + x.size(1));
  }
  if (!wants.x) return result;
  if (!through_moments) zero(both);
  if (through_moments && peers) peers->add(both);
  const Tensor factor = wide_parameter(weight, x.size(1), 1, x.device());
  const double *w = factor.data<double>(), *s = both.data<double>(), *t = s + x.size(1);
  const double share = count > 0 ? 1 / count : 0;
  const Tensor a = per_channel(rstd, [&](int64_t c) { return w[c] * r[c]; });
  const Tensor b = per_channel(rstd, [&](int64_t c) { return -w[c] * r[c] * r[c] * r[c] * t[c] * share; });
  const Tensor c = per_channel(rstd, [&](int64_t i) { return -w[i] * r[i] * s[i] * share; });
  result.dx = to(channel_gradient(upstream, input, mean, a, b, c), x.dtype());
  return result;
}

}  // namespace tern::kernels
