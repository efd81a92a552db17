// Activations as layers: the functions of their names, element by element unless there is a `dim`.
#pragma once

#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/nn/module.h>

namespace tern::nn {

/// x itself.
struct Identity : Layer<Identity> {
  Tensor forward(const Tensor& x) { return x; }
};

/// max(x, 0).
struct ReLU : Layer<ReLU> {
  Tensor forward(const Tensor& x) { return relu(x); }
};

struct Tanh : Layer<Tanh> {
  Tensor forward(const Tensor& x) { return tanh(x); }
};

/// 1 / (1 + e^-x).
struct Sigmoid : Layer<Sigmoid> {
  Tensor forward(const Tensor& x) { return sigmoid(x); }
};

/// x sigmoid(x).
struct SiLU : Layer<SiLU> {
  Tensor forward(const Tensor& x) { return silu(x); }
};

/// x where x > 0, negative_slope x elsewhere.
class LeakyReLU : public Layer<LeakyReLU> {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : negative_slope_(negative_slope) {}
  Tensor forward(const Tensor& x) { return leaky_relu(x, negative_slope_); }
  std::string describe() const override;

 private:
  double negative_slope_;
};

/// x where x > 0, alpha (e^x - 1) elsewhere.
class ELU : public Layer<ELU> {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) { return elu(x, alpha_); }
  std::string describe() const override;

 private:
  double alpha_;
};

/// x Phi(x) with the normal distribution's Phi.
class GELU : public Layer<GELU> {
 public:
  explicit GELU(GeluApproximation approximate = GeluApproximation::none) : approximate_(approximate) {}
  Tensor forward(const Tensor& x) { return gelu(x, approximate_); }
  std::string describe() const override;

 private:
  GeluApproximation approximate_;
};

/// log(1 + e^(beta x)) / beta; x itself where beta x > threshold.
class Softplus : public Layer<Softplus> {
 public:
  explicit Softplus(double beta = 1.0, double threshold = 20.0) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& x) { return softplus(x, beta_, threshold_); }
  std::string describe() const override;

 private:
  double beta_, threshold_;
};

/// exp(x) / sum(exp(x)) along `dim`.
class Softmax : public Layer<Softmax> {
 public:
  /// Throws Error for a dimension that no tensor has.
  explicit Softmax(int64_t dim) : dim_(dim) { normalize_dim(dim, max_dims, "Softmax"); }
  Tensor forward(const Tensor& x) { return softmax(x, dim_); }
  std::string describe() const override;

 private:
  int64_t dim_;
};

/// log(softmax(x)) along `dim`.
class LogSoftmax : public Layer<LogSoftmax> {
 public:
  /// Throws Error for a dimension that no tensor has.
  explicit LogSoftmax(int64_t dim) : dim_(dim) { normalize_dim(dim, max_dims, "LogSoftmax"); }
  Tensor forward(const Tensor& x) { return log_softmax(x, dim_); }
  std::string describe() const override;

 private:
  int64_t dim_;
};

}  // namespace tern::nn
