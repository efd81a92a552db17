// Losses; names and defaults are those of torch.nn.functional. float16 and bfloat16 are computed in float32
// and rounded once.
//
// With Reduction::mean and sum the result is 0-d; with none it has a loss per element (per row for the losses
// over classes). Weights get no gradient. The mean of nothing is NaN.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/cross_entropy.h>

namespace tern {

using kernels::Reduction;

// Losses per element: x is floating-point, the target of any dtype and of x's shape (Error: PyTorch would
// broadcast, and [N, 1] with [N] give the loss of N^2 pairs). A floating-point target gets a gradient.

/// (x - target)^2.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

/// |x - target|; the gradient where both are equal is 0.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

struct SmoothL1LossOptions {
  double beta = 1;
  Reduction reduction = Reduction::mean;
};
/// With d = x - target: d^2 / (2 beta) where |d| < beta, |d| - beta / 2 beyond; l1_loss for beta = 0. Throws
/// Error for a negative beta.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1LossOptions& options = {});

struct HuberLossOptions {
  double delta = 1;
  Reduction reduction = Reduction::mean;
};
/// With d = x - target: d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) beyond (Huber, 1964). Throws
/// Error unless delta > 0.
Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberLossOptions& options = {});

struct BCELossOptions {
  Tensor weight = {};  ///< of each loss; broadcasts to x's shape
  Reduction reduction = Reduction::mean;
};
/// -(target log x + (1 - target) log(1 - x)), with logarithms of at least -100. Throws Error when an x lies
/// outside [0, 1] or is NaN.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const BCELossOptions& options = {});

struct BCEWithLogitsLossOptions {
  Tensor weight = {};      ///< of each loss; broadcasts to x's shape
  Tensor pos_weight = {};  ///< of the part target log sigmoid(x); broadcasts to x's shape
  Reduction reduction = Reduction::mean;
};
/// binary_cross_entropy of sigmoid(x), exact for large |x|.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BCEWithLogitsLossOptions& options = {});

enum class KLDivReduction : unsigned char {
  none,
  mean,  ///< over all elements
  sum,
  batchmean,  ///< the sum divided by x.size(0): the divergence's mean over rows
};
struct KLDivLossOptions {
  KLDivReduction reduction = KLDivReduction::mean;
  bool log_target = false;  ///< the target too holds log-probabilities
};
/// target (log target - x) for log-probabilities x (Kullback and Leibler, 1951); 0 where the target is 0,
/// for x = -inf too (PyTorch: NaN).
Tensor kl_div(const Tensor& x, const Tensor& target, const KLDivLossOptions& options = {});

// Losses over classes: rows lie along dimension 1 of [N, C] or [N, C, d1, …], or are the whole [C].

struct NLLLossOptions {
  Tensor weight = {};           ///< per class [C]
  int64_t ignore_index = -100;  ///< rows with this target do not count
  Reduction reduction = Reduction::mean;
};
/// -weight[target] x[target] for log-probabilities x and class indices [N], [N, d1, …] or [] (int64). The
/// mean divides by the sum of the counted rows' weights; that of no counted row is NaN as in PyTorch, its
/// gradient zero. Throws Error for a target outside [0, C) other than ignore_index.
Tensor nll_loss(const Tensor& x, const Tensor& target, const NLLLossOptions& options = {});

struct CrossEntropyOptions {
  Tensor weight = {};           ///< per class [C]
  int64_t ignore_index = -100;  ///< rows with this target do not count; for class indices only
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
/// Cross-entropy of logits with class indices (int64), as nll_loss of log_softmax: there it says what target
/// and mean are.
///
/// A floating-point target holds class probabilities in the logits' shape. The loss of a row is then -sum
/// over c of weight[c] q[c] log_softmax(logits)[c], with q = (1 - label_smoothing) target + label_smoothing /
/// C, and a q of 0 counts nothing even where the logit is -inf; the mean divides by the number of rows. The
/// target gets a gradient. Throws Error for an ignore_index that is not negative.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

}  // namespace tern
