#include <tern/nn/init.h>

#include <tern/core/random.h>
#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/matmul.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tern::nn::init {
namespace {

double gain_over_root(double gain, double fan) { return fan > 0 ? gain / std::sqrt(fan) : 0; }

double kaiming_std(const Tensor& weight, const KaimingOptions& o) {
  const Fans both = fans(weight);
  const bool leaky = o.nonlinearity == Nonlinearity::leaky_relu;
  const double gain = calculate_gain(o.nonlinearity, leaky ? std::optional(o.a) : std::nullopt);
  return gain_over_root(gain, static_cast<double>(o.mode == FanMode::fan_in ? both.in : both.out));
}

double xavier_std(const Tensor& weight, double gain) {
  const Fans both = fans(weight);
  return gain_over_root(gain, static_cast<double>(both.in + both.out) / 2);
}

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// The z with normal_cdf(z) = p: an approximation (Winitzki, 2008), then two of Halley's steps.
double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  if (p <= 0) return -std::numeric_limits<double>::infinity();
  const double a = 0.147, l = std::log(4 * p * (1 - p)), half = 2 / (std::numbers::pi * a) + l / 2;
  double z = -std::numbers::sqrt2 * std::sqrt(std::max(std::sqrt(half * half - l / a) - half, 0.0));
  for (int i = 0; i < 2; ++i) {
    const double step = (normal_cdf(z) - p) * std::sqrt(2 * std::numbers::pi) * std::exp(z * z / 2);
    z -= step / (1 + z * step / 2);
  }
  return z;
}

// Makes the rows of a [rows, columns] orthonormal, one after the other: Gram and Schmidt's method, twice
// since once would leave rounding errors of the size that cancelled.
void orthonormalise(double* a, int64_t rows, int64_t columns, double* products) {
  for (int64_t r = 0; r < rows; ++r) {
    double* const row = a + r * columns;
    for (int pass = 0; pass < 2 && r > 0; ++pass) {
      kernels::gemm({false, true, 1, r, columns, columns, columns, r}, 1.0, row, a, 0.0, products);
      kernels::gemm({false, false, 1, columns, r, r, columns, columns}, -1.0, products, a, 1.0, row);
    }
    double square = 0;
    for (int64_t c = 0; c < columns; ++c) square += row[c] * row[c];
    for (int64_t c = 0; c < columns; ++c) row[c] /= std::sqrt(square);
  }
}

}  // namespace

void uniform_(const Tensor& x, double low, double high) {
  kernels::uniform(x, low, high, default_generator(x.device()));
}

void normal_(const Tensor& x, double mean, double std) {
  kernels::normal(x, mean, std, default_generator(x.device()));
}

void trunc_normal_(const Tensor& x, double mean, double std, double low, double high) {
  check(std > 0, "trunc_normal_: std must be above 0, got ", std);
  check(low < high, "trunc_normal_: needs low < high, got ", low, " and ", high);
  // In the upper tail 1 - p would round to nothing: there, the mirrored distribution.
  const bool mirror = low > mean;
  const double from = (mirror ? mean - high : low - mean) / std,
               to = (mirror ? mean - low : high - mean) / std;
  const Tensor z = empty(x.shape(), float64, x.device());
  uniform_(z, normal_cdf(from), normal_cdf(to));
  double* const values = z.data<double>();
  parallel_for(z.numel(), 4096, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double distance = std * normal_quantile(values[i]);
      values[i] = std::clamp(mirror ? mean - distance : mean + distance, low, high);
    }
  });
  kernels::copy(z, x);
}

void constant_(const Tensor& x, double value) {
  Scalar(value).check_fits(x.dtype(), "constant_");
  kernels::fill(x, value);
}
void ones_(const Tensor& x) { kernels::fill(x, 1); }
void zeros_(const Tensor& x) { kernels::fill(x, 0); }

void eye_(const Tensor& x) {
  check(x.dim() == 2, "eye_: needs a matrix, got ", x.shape());
  kernels::copy(kernels::eye(x.size(0), x.size(1), x.dtype(), x.device()), x);
}

Fans fans(const Tensor& weight) {
  check(weight.dim() >= 2, "init: needs a weight of at least 2 dimensions, got ", weight.shape());
  Shape in = weight.shape(), out = in;
  in.erase(0), out.erase(1);
  return {in.numel(), out.numel()};
}

double calculate_gain(Nonlinearity nonlinearity, std::optional<double> slope) {
  const bool leaky = nonlinearity == Nonlinearity::leaky_relu;
  check(leaky || !slope, "calculate_gain: only leaky_relu has a slope");
  const double a = slope.value_or(0.01);
  if (leaky) return std::sqrt(2 / (1 + a * a));
  if (nonlinearity == Nonlinearity::relu) return std::numbers::sqrt2;
  if (nonlinearity == Nonlinearity::tanh) return 5.0 / 3;
  return nonlinearity == Nonlinearity::selu ? 0.75 : 1;
}

// U(-b, b) has the standard deviation b / sqrt(3).
void xavier_uniform_(const Tensor& weight, double gain) {
  const double bound = std::sqrt(3.0) * xavier_std(weight, gain);
  uniform_(weight, -bound, bound);
}

void xavier_normal_(const Tensor& weight, double gain) { normal_(weight, 0, xavier_std(weight, gain)); }

void kaiming_uniform_(const Tensor& weight, const KaimingOptions& options) {
  const double bound = std::sqrt(3.0) * kaiming_std(weight, options);
  uniform_(weight, -bound, bound);
}

void kaiming_normal_(const Tensor& weight, const KaimingOptions& options) {
  normal_(weight, 0, kaiming_std(weight, options));
}

void orthogonal_(const Tensor& weight, double gain) {
  check(weight.dim() >= 2, "orthogonal_: needs at least 2 dimensions, got ", weight.shape());
  check(is_floating_point(weight.dtype()), "orthogonal_: needs a floating-point tensor, got ",
        weight.dtype());
  if (weight.numel() == 0) return;
  const int64_t rows = weight.size(0), columns = weight.numel() / rows;
  const int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  const Tensor q = empty({few, many}, float64), products = empty({few}, float64);
  normal_(q, 0, 1);
  orthonormalise(q.data<double>(), few, many, products.data<double>());
  for (int64_t i = 0; i < q.numel(); ++i) q.data<double>()[i] *= gain;
  const Layout matrix({rows, columns}, rows <= columns ? Strides{many, 1} : Strides{1, many}, 0);
  const Tensor values = kernels::contiguous(q.with_layout(matrix));
  kernels::copy(values.with_layout(Layout(weight.shape(), dense_strides(weight.shape()), 0)), weight);
}

Tensor default_parameter(const Shape& shape, int64_t fan_in) {
  const double bound = gain_over_root(1, static_cast<double>(fan_in));
  Tensor parameter = empty(shape);
  uniform_(parameter, -bound, bound);
  return parameter.requires_grad_();
}

}  // namespace tern::nn::init
