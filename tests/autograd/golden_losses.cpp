// The losses as PyTorch computes them (tests/golden/golden_losses.py).
#include <tern/autograd/functional.h>
#include <tern/autograd/losses.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

Reduction reduction_of(const Parameters& p) {
  const std::string text = p.text("reduction");
  return text == "none" ? Reduction::none : text == "sum" ? Reduction::sum : Reduction::mean;
}

KLDivReduction kl_reduction_of(const Parameters& p) {
  if (p.text("reduction") == "batchmean") return KLDivReduction::batchmean;
  const Reduction reduction = reduction_of(p);
  return reduction == Reduction::none  ? KLDivReduction::none
         : reduction == Reduction::sum ? KLDivReduction::sum
                                       : KLDivReduction::mean;
}

int64_t integer(const Parameters& p, const char* name) { return static_cast<int64_t>(p.number(name)); }

template <class Function>
GoldenOperation loss(Function function) {
  return [function](const Tensors& x, const Parameters& p) -> Tensors { return {function(x, p)}; };
}

Tensor with_logits(const Tensors& x, const Parameters& p) {
  BCEWithLogitsLossOptions options{.reduction = reduction_of(p)};
  if (p.flag("weight")) options.weight = x[2];
  if (p.flag("pos_weight")) options.pos_weight = x.back();
  return binary_cross_entropy_with_logits(x[0], x[1], options);
}

Tensor third(const Tensors& x) { return x.size() > 2 ? x[2] : Tensor(); }

const GoldenTable operations{
    {"mse_loss",
     loss([](const Tensors& x, const Parameters& p) { return mse_loss(x[0], x[1], reduction_of(p)); })},
    {"l1_loss",
     loss([](const Tensors& x, const Parameters& p) { return l1_loss(x[0], x[1], reduction_of(p)); })},
    {"smooth_l1_loss", loss([](const Tensors& x, const Parameters& p) {
       return smooth_l1_loss(x[0], x[1], {.beta = p.number("beta"), .reduction = reduction_of(p)});
     })},
    {"huber_loss", loss([](const Tensors& x, const Parameters& p) {
       return huber_loss(x[0], x[1], {.delta = p.number("delta"), .reduction = reduction_of(p)});
     })},
    {"kl_div", loss([](const Tensors& x, const Parameters& p) {
       return kl_div(x[0], x[1], {.reduction = kl_reduction_of(p), .log_target = p.flag("log_target")});
     })},
    {"binary_cross_entropy", loss([](const Tensors& x, const Parameters& p) {
       return binary_cross_entropy(x[0], x[1], {.weight = third(x), .reduction = reduction_of(p)});
     })},
    {"binary_cross_entropy_with_logits", loss(with_logits)},
    {"nll_loss", loss([](const Tensors& x, const Parameters& p) {
       return nll_loss(
           x[0], x[1],
           {.weight = third(x), .ignore_index = integer(p, "ignore_index"), .reduction = reduction_of(p)});
     })},
    {"cross_entropy", loss([](const Tensors& x, const Parameters& p) {
       return cross_entropy(x[0], x[1],
                            {.weight = third(x),
                             .label_smoothing = p.number("label_smoothing"),
                             .reduction = reduction_of(p)});
     })},
    {"normalize", loss([](const Tensors& x, const Parameters& p) {
       return normalize(x[0], p.number("p"), integer(p, "dim"), p.number("eps"));
     })},
    {"cosine_similarity", loss([](const Tensors& x, const Parameters& p) {
       return cosine_similarity(x[0], x[1], integer(p, "dim"));
     })},
};

}  // namespace

TEST_CASE("losses are PyTorch's, value and gradients") {
  CHECK(golden_problems("losses.safetensors", operations) == "");
}
