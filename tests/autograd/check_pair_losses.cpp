// Losses that compare input and target element by element, and what is built on them.
#include <tern/autograd/functional.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/tests/support/check_op.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// Inputs and targets of one shape.
std::vector<Shapes> pairs() {
  return {{{}, {}},
          {{1}, {1}},
          {{17}, {17}},
          {{0, 3}, {0, 3}},
          {{4, 5}, {4, 5}},
          {{2, 3, 4}, {2, 3, 4}},
          {{2, 3, 4, 5}, {2, 3, 4, 5}},
          {{133, 130}, {133, 130}}};
}

constexpr Reduction reductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

// check_op for each reduction; the mean of nothing is NaN, which has no differences.
template <class Loss>
void check_pairs(const char* name, Loss loss, const OpOptions& options = {}) {
  for (const Reduction reduction : reductions) {
    std::vector<Shapes> samples = pairs();
    if (reduction == Reduction::mean) samples.erase(samples.begin() + 3);
    check_op(
        name, [=](const Inputs& x) { return loss(x[0], x[1], reduction); }, samples, options);
  }
}

// A weight that broadcasts to x's shape.
Tensor weight_for(const Tensor& x) {
  return x.dim() == 0 ? scattered({}, 0.5, 2, x.dtype()) : scattered({x.size(-1)}, 0.5, 2, x.dtype());
}

}  // namespace

TEST_CASE("losses of the distance") {
  check_pairs("mse_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return mse_loss(x, t, r); });
  check_pairs("l1_loss", [](const Tensor& x, const Tensor& t, Reduction r) { return l1_loss(x, t, r); },
              {.jumps = true});
  // Scattered values meet the places where the slope bends, but not where it jumps.
  check_pairs("smooth_l1_loss",
              [](const Tensor& x, const Tensor& t, Reduction r) {
                return smooth_l1_loss(x * 2 + 0.001, t, {.beta = 0.71, .reduction = r});
              },
              {.error_names = {"mul"}});
  check_pairs("huber_loss",
              [](const Tensor& x, const Tensor& t, Reduction r) {
                return huber_loss(x * 2 + 0.001, t, {.delta = 0.71, .reduction = r});
              },
              {.error_names = {"mul"}});
}

TEST_CASE("binary cross-entropies") {
  check_pairs("binary_cross_entropy",
              [](const Tensor& x, const Tensor& t, Reduction r) {
                return binary_cross_entropy(x, t, {.reduction = r});
              },
              {.low = 0.05, .high = 0.95});
  check_pairs("binary_cross_entropy",
              [](const Tensor& x, const Tensor& t, Reduction r) {
                return binary_cross_entropy(x, t, {.weight = weight_for(x), .reduction = r});
              },
              {.low = 0.05, .high = 0.95});
  check_pairs("binary_cross_entropy_with_logits", [](const Tensor& x, const Tensor& t, Reduction r) {
    return binary_cross_entropy_with_logits(x, t, {.reduction = r});
  });
  check_pairs("binary_cross_entropy_with_logits",
              [](const Tensor& x, const Tensor& t, Reduction r) {
                return binary_cross_entropy_with_logits(
                    x, t, {.weight = weight_for(x), .pos_weight = weight_for(x) * 0.7, .reduction = r});
              },
              {.error_names = {"mul"}});
}

TEST_CASE("Kullback-Leibler divergence") {
  using Kinds = std::initializer_list<KLDivReduction>;
  const std::vector<Shapes> samples{{{}, {}}, {{17}, {17}}, {{4, 5}, {4, 5}}, {{2, 3, 4, 5}, {2, 3, 4, 5}}};
  for (const KLDivReduction reduction :
       Kinds{KLDivReduction::none, KLDivReduction::mean, KLDivReduction::sum, KLDivReduction::batchmean}) {
    check_op("kl_div", [=](const Inputs& x) { return kl_div(x[0], x[1], {.reduction = reduction}); }, samples,
             {.low = 0.1});
    check_op(
        "kl_div",
        [=](const Inputs& x) { return kl_div(x[0], x[1], {.reduction = reduction, .log_target = true}); },
        samples);
  }
}

TEST_CASE("cross entropy with class probabilities") {
  const std::vector<Shapes> samples{{{5}, {5}},
                                    {{6, 5}, {6, 5}},
                                    {{1, 1}, {1, 1}},
                                    {{2, 4, 3}, {2, 4, 3}},
                                    {{2, 3, 2, 4}, {2, 3, 2, 4}},
                                    {{40, 410}, {40, 410}}};
  for (const Reduction reduction : reductions) {
    check_op("cross_entropy",
             [=](const Inputs& x) { return cross_entropy(x[0], x[1], {.reduction = reduction}); }, samples,
             {.low = 0.1, .error_names = {"log_softmax"}});
    check_op("cross_entropy",
             [=](const Inputs& x) {
               const Shape& shape = x[0].shape();
               const Tensor weight = scattered({shape[shape.dim() > 1]}, 0.5, 2, x[0].dtype());
               return cross_entropy(x[0], x[1],
                                    {.weight = weight, .label_smoothing = 0.2, .reduction = reduction});
             },
             samples, {.low = 0.1, .error_names = {"log_softmax"}});
  }
}

TEST_CASE("negative log-likelihood") {
  const std::vector<Shapes> samples{{{5}}, {{6, 5}}, {{1, 1}}, {{2, 4, 3}}, {{2, 3, 2, 4}}, {{40, 410}}};
  for (const Reduction reduction : reductions) {
    check_op(
        "nll_loss",
        [=](const Inputs& x) {
          Shape shape = x[0].shape();
          const int64_t classes = shape[shape.dim() > 1];
          shape.erase(shape.dim() > 1);
          const Tensor target = empty(shape, int64);
          for (int64_t i = 0; i < target.numel(); ++i)
            target.data<int64_t>()[i] = i % 3 == 1 ? -7 : 2 * i % classes;
          const Tensor weight = scattered({classes}, 0.5, 2, x[0].dtype());
          return nll_loss(x[0], target, {.weight = weight, .ignore_index = -7, .reduction = reduction});
        },
        samples);
  }
}

TEST_CASE("normalize and cosine similarity") {
  const std::vector<Shapes> samples{{{3, 5}}, {{2, 3, 4}}, {{1, 9}}, {{17, 33}}, {{130, 131}}};
  const std::vector<const char*> parts{"div", "mul", "norm", "clamp"};
  check_op("normalize", [](const Inputs& x) { return normalize(x[0]); }, samples, {.error_names = parts});
  check_op("normalize", [](const Inputs& x) { return normalize(x[0], 3, 0); }, samples,
           {.low = 0.1, .error_names = parts});
  check_op("cosine_similarity", [](const Inputs& x) { return cosine_similarity(x[0], x[1]); },
           {{{3, 5}, {3, 5}}, {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {3, 1}}, {{17, 33}, {17, 33}}},
           {.error_names = parts});
}

TEST_CASE("dropout of channels") {
  check_op("dropout2d",
           [](const Inputs& x) {
             manual_seed(5);
             return dropout2d(x[0], 0.3);
           },
           {{{2, 3, 4, 5}}, {{2, 8, 7}}, {{1, 1, 1, 1}}, {{0, 3, 2, 2}}, {{3, 40, 9, 11}}});
}
