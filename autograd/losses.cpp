// Losses over classes.
#include <tern/autograd/losses.h>

#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/pair_losses.h>
#include <tern/autograd/record.h>
#include <tern/autograd/reductions.h>
#include <tern/kernels/nll_loss.h>

namespace tern {
namespace {

// With class probabilities: log_softmax, then one pass over what it gives and the target.
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const Shape& shape = logits.shape();
  check(shape.dim() >= 1 && is_floating_point(logits.dtype()),
        "cross_entropy: the input must be floating-point [C], [N, C] or [N, C, d1, …], got ", shape, " of ",
        logits.dtype());
  check(options.ignore_index < 0, "cross_entropy: class probabilities know no ignore_index, got ",
        options.ignore_index);
  check(options.label_smoothing >= 0 && options.label_smoothing <= 1,
        "cross_entropy: label_smoothing must be from 0 to 1, got ", options.label_smoothing);
  check(target.shape() == shape, "cross_entropy: a target of ", target.dtype(),
        " holds class probabilities, ", shape,
        " as the input; class indices are int64: to(target, int64). Got ", target.shape());
  const int64_t dim = shape.dim() == 1 ? 0 : 1;
  const auto classes = static_cast<double>(shape[dim]), rows = static_cast<double>(logits.numel()) / classes;
  Tensor weight = options.weight;
  if (weight.defined()) {
    check(weight.shape() == Shape{shape[dim]}, "cross_entropy: weight must be [", shape[dim], "], got ",
          weight.shape());
    for (int64_t d = dim + 1; d < shape.dim(); ++d) weight = weight.with_layout(weight.layout().unsqueeze(1));
  }
  kernels::check_loss_operands("cross_entropy", {logits, target, weight, {}});
  const Tensor x = log_softmax(to(logits, computing_dtype(logits.dtype())), dim);
  const bool each = options.reduction == Reduction::none;
  const Tensor loss = pair_loss(
      "cross_entropy", SmoothedEntropy{1 - options.label_smoothing, options.label_smoothing / classes},
      {x, target, weight, {}}, each, options.reduction == Reduction::mean ? rows : 1);
  return to(each ? sum(loss, dim) : loss, logits.dtype());
}

}  // namespace

// dx[t] = -w[t] dloss / divisor.
Tensor nll_loss(const Tensor& x, const Tensor& target, const NLLLossOptions& options) {
  const OperationScope scope("nll_loss");
  const int64_t ignore_index = options.ignore_index;
  const Reduction reduction = options.reduction;
  const auto [loss, divisor] = kernels::nll_loss(x, target, options.weight, ignore_index, reduction);
  return record("nll_loss", loss, {x},
                [x = SavedTensor(x), target = SavedTensor(target), weight = SavedTensor(options.weight),
                 ignore_index, reduction, divisor = divisor](const Tensor& dy) -> Gradients {
                  return {kernels::nll_loss_backward(dy, x.get(), target.get(), weight.get(), ignore_index,
                                                     reduction, divisor)};
                });
}

// dlogits = w[t] (softmax(logits) - onehot(t)) dloss / divisor, with the smoothed distribution in place of
// onehot(t).
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const OperationScope scope("cross_entropy");
  if (is_floating_point(target.dtype())) return soft_cross_entropy(logits, target, options);
  const kernels::CrossEntropyOptions kernel{options.ignore_index, options.label_smoothing, options.reduction};
  const kernels::CrossEntropy forward =
      kernels::cross_entropy_forward(logits, target, options.weight, kernel);
  return record(
      "cross_entropy", forward.loss, {logits},
      [logits = SavedTensor(logits), target = SavedTensor(target), weight = SavedTensor(options.weight),
       log_sum_exp = forward.log_sum_exp, divisor = forward.divisor, kernel](const Tensor& dy) -> Gradients {
        return {kernels::cross_entropy_backward(dy, logits.get(), target.get(), weight.get(),
                                                {Tensor(), log_sum_exp, divisor}, kernel)};
      });
}

}  // namespace tern
