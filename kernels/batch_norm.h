// Batch normalisation (Ioffe & Szegedy, 2015, arXiv:1502.03167) on raw tensors.
//
// x is [N, C] or [N, C, …] of a floating-point dtype; half types compute in float32 and round once.
// Statistics are float64 [C]. `weight` and `bias` are [C] of x's dtype (float32 beside half types) or
// undefined.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// Those who normalise one batch together, each holding a part of it. All call the same functions in the same
/// order, whatever their parts hold.
class BatchPeers {
 public:
  virtual ~BatchPeers() = default;
  /// The rows (float64 [n]) of all parts, in an order that all agree on: [parts, n].
  virtual Tensor gather(const Tensor& row) const = 0;
  /// Adds float64 sums in place over all parts.
  virtual void add(const Tensor& sums) const = 0;
};

/// Throws Error unless x, weight and bias fit.
void check_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias);

struct BatchMoments {
  Tensor mean, var;  ///< of the batch; the variance divides by count
  double count = 0;  ///< values per channel
};
/// Of x alone, or with `peers` of all parts together: one gather(). Throws Error when there is exactly one
/// value per channel, on all parts. Without any, mean and var are 0.
BatchMoments batch_moments(const Tensor& x, const BatchPeers* peers);

/// running += momentum (new - running), with the unbiased variance; nothing without values. Both [C],
/// floating-point.
void update_running(const Tensor& running_mean, const Tensor& running_var, const BatchMoments& moments,
                    double momentum);

/// 1 / sqrt(var + eps), float64 [C].
Tensor inverse_deviation(const Tensor& var, double eps);

/// y = (x - mean) rstd weight + bias, in x's order of dimensions where it is contiguous or channels-last.
Tensor batch_normalize(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                       const Tensor& bias);

/// Which gradients are wanted; the others stay undefined.
struct NormWants {
  bool x, weight, bias;
};
struct NormGradients {
  Tensor dx, dweight, dbias;
};
/// `count` is that of the batch whose moments mean and rstd are; 0 when they are constants (evaluation).
/// With `peers` dx is that of the sum of all parts' losses, by one add(); dweight and dbias are this part's.
NormGradients batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                  double count, const Tensor& weight, DType bias_dtype, NormWants wants,
                                  const BatchPeers* peers);

/// `weight` as contiguous float64, or `otherwise` `count` times when it is undefined.
Tensor wide_parameter(const Tensor& weight, int64_t count, double otherwise, Device device);

/// Throws Error naming `operation` unless `parameter` is undefined, or of `shape` and of x's dtype (float32
/// beside half types) and device.
void check_norm_parameter(const char* operation, const char* which, const Tensor& parameter,
                          const Shape& shape, const Tensor& x);

}  // namespace tern::kernels
