// Losses that compare input and target element by element.
#include <tern/autograd/pair_losses.h>

#include <tern/autograd/convert.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/record.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/loss.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <cmath>

namespace tern {
namespace {

using kernels::LossOperands;
using kernels::LossPart;

struct SavedOperands {
  explicit SavedOperands(const LossOperands& o)
      : x(o.x), target(o.target), weight(o.weight), pos_weight(o.pos_weight) {}
  LossOperands get() const { return {x.get(), target.get(), weight.get(), pos_weight.get()}; }

  SavedTensor x, target, weight, pos_weight;
};

Tensor wide(const Tensor& x) { return kernels::to(x, computing_dtype(x.dtype())); }

Tensor gradient_of(const LossMath& math, LossPart part, const LossOperands& o, double scale) {
  const Tensor& wanted = part == LossPart::input_slope ? o.x : o.target;
  return kernels::to(kernels::losses(math, part, o, scale), wanted.dtype());
}

// y = w f(x, t), or the sum of all over a divisor; dx = dy w f_x(x, t), dt = dy w f_t(x, t).
Tensor each_loss(const char* operation, const LossMath& math, const LossOperands& o) {
  return record(operation, kernels::losses(math, LossPart::value, o), {o.x, o.target},
                [math, saved = SavedOperands(o)](const Tensor& dy, Wants wants) -> Gradients {
                  LossOperands now = saved.get();
                  now.weight = now.weight.defined() ? kernels::mul(wide(dy), wide(now.weight)) : dy;
                  return {wants[0] ? gradient_of(math, LossPart::input_slope, now, 1) : Tensor(),
                          wants[1] ? gradient_of(math, LossPart::target_slope, now, 1) : Tensor()};
                });
}

Tensor reduced_loss(const char* operation, const LossMath& math, const LossOperands& o, double divisor) {
  const Tensor y = empty({}, o.x.dtype(), o.x.device());
  kernels::fill(y, kernels::loss_sum(math, o) / divisor);
  return record(operation, y, {o.x, o.target},
                [math, divisor, saved = SavedOperands(o)](const Tensor& dy, Wants wants) -> Gradients {
                  const LossOperands now = saved.get();
                  const double scale = dy.item<double>() / divisor;
                  return {wants[0] ? gradient_of(math, LossPart::input_slope, now, scale) : Tensor(),
                          wants[1] ? gradient_of(math, LossPart::target_slope, now, scale) : Tensor()};
                });
}

double divisor_of(const Tensor& x, Reduction reduction) {
  return reduction == Reduction::mean ? static_cast<double>(x.numel()) : 1;
}

Tensor pair_loss(const char* operation, const LossMath& math, const LossOperands& operands,
                 Reduction reduction) {
  return pair_loss(operation, math, operands, reduction == Reduction::none,
                   divisor_of(operands.x, reduction));
}

}  // namespace

Tensor pair_loss(const char* operation, const LossMath& math, const LossOperands& operands, bool each,
                 double divisor) {
  kernels::check_loss_operands(operation, operands);
  LossOperands o = operands;
  if (is_floating_point(o.target.dtype()) && o.target.dtype() != o.x.dtype()) {
    const DType dtype = kernels::result_type(o.x, o.target);
    o.x = to(o.x, dtype), o.target = to(o.target, dtype);
  }
  return each ? each_loss(operation, math, o) : reduced_loss(operation, math, o, divisor);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const OperationScope scope("mse_loss");
  return pair_loss("mse_loss", OfDifference<SquaredDistance>{}, {x, target, {}, {}}, reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const OperationScope scope("l1_loss");
  return pair_loss("l1_loss", OfDifference<Distance>{}, {x, target, {}, {}}, reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1LossOptions& options) {
  const OperationScope scope("smooth_l1_loss");
  check(options.beta >= 0, "smooth_l1_loss: beta must not be negative, got ", options.beta);
  const LossOperands operands{x, target, {}, {}};
  if (options.beta == 0)
    return pair_loss("smooth_l1_loss", OfDifference<Distance>{}, operands, options.reduction);
  return pair_loss("smooth_l1_loss", OfDifference<SmoothDistance>{{options.beta}}, operands,
                   options.reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberLossOptions& options) {
  const OperationScope scope("huber_loss");
  check(options.delta > 0, "huber_loss: delta must be above 0, got ", options.delta);
  return pair_loss("huber_loss", OfDifference<HuberDistance>{{options.delta}}, {x, target, {}, {}},
                   options.reduction);
}

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const BCELossOptions& options) {
  const OperationScope scope("binary_cross_entropy");
  const Tensor y =
      pair_loss("binary_cross_entropy", BinaryEntropy{}, {x, target, options.weight, {}}, options.reduction);
  // An x outside gives NaN: only then is it worth looking for.
  if (std::isnan(kernels::sum(y.detach()).item<double>())) {
    const auto outside = [&](const Comparison& inside, double bound) {
      return !kernels::all(kernels::compare(inside, x, kernels::scalar_like(bound, x))).item<bool>();
    };
    check(!outside(GreaterEqual{}, 0) && !outside(LessEqual{}, 1),
          "binary_cross_entropy: all elements of the input must be from 0 to 1");
  }
  return y;
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BCEWithLogitsLossOptions& options) {
  const OperationScope scope("binary_cross_entropy_with_logits");
  return pair_loss("binary_cross_entropy_with_logits", BinaryEntropyOfLogits{},
                   {x, target, options.weight, options.pos_weight}, options.reduction);
}

Tensor kl_div(const Tensor& x, const Tensor& target, const KLDivLossOptions& options) {
  const OperationScope scope("kl_div");
  const KLDivReduction reduction = options.reduction;
  const LossMath math = options.log_target ? LossMath(DivergenceOfLogarithms{}) : LossMath(Divergence{});
  double divisor = divisor_of(x, reduction == KLDivReduction::mean ? Reduction::mean : Reduction::sum);
  if (reduction == KLDivReduction::batchmean && x.dim() > 0) divisor = static_cast<double>(x.size(0));
  return pair_loss("kl_div", math, {x, target, {}, {}}, reduction == KLDivReduction::none, divisor);
}

}  // namespace tern
