// Cross-entropy with class indices: log-softmax and negative log-likelihood in one pass.
//
// A row is one prediction: logits [N, C] with target [N], or logits [N, C, d1, …] with target [N, d1, …], or
// logits [C] with a 0-d target. Its loss is
//   (1 - s) * w[t] * (-log p[t]) + s / C * sum over c of w[c] * (-log p[c]),   s = label_smoothing, w =
//   weight.
// Rows whose target is `ignore_index` have loss 0, gradient 0 and no share in the mean; the index may lie
// outside the classes. Rows are ignored, columns are not: an ignore_index that is a class keeps its place in
// the softmax of the other rows.
//
// The mean divides by the sum of w[t] over the rows that count (their number without weights). When that is
// zero (every row ignored, or no row), the mean is NaN, as in PyTorch; the gradient is zero for every
// reduction.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

enum class Reduction : unsigned char { none, mean, sum };

struct CrossEntropyOptions {
  int64_t ignore_index = -100;
  double label_smoothing = 0;  ///< from 0 to 1
  Reduction reduction = Reduction::mean;
};

struct CrossEntropy {
  Tensor loss;         ///< 0-d, or shaped as target (none); logits' dtype
  Tensor log_sum_exp;  ///< per row, shaped as target; float32, or float64 for float64 logits
  Tensor divisor;      ///< 0-d float64: what the mean divides by
};

/// Target is int64, logits and weight [C] (or undefined) floating-point of one dtype; half types compute in
/// float32. Throws Error when shapes or dtypes do not fit, and for a target outside [0, C) that is not
/// ignore_index, naming its row and value.
CrossEntropy cross_entropy_forward(const Tensor& logits, const Tensor& target, const Tensor& weight,
                                   const CrossEntropyOptions& options);

/// dlogits, shaped as logits, in one pass. `dloss` is shaped as the loss; the other arguments are those of
/// forward, `forward` its result.
Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& target,
                              const Tensor& weight, const CrossEntropy& forward,
                              const CrossEntropyOptions& options);

}  // namespace tern::kernels
