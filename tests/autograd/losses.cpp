// Losses at their edges: large logits, NaN and infinities, nothing to average, what is refused. Expected
// values are PyTorch's where the comment does not say otherwise.
#include <tern/autograd/backward.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/slope.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr double not_a_number = NAN, infinite = INFINITY;
using Values = std::vector<double>;

bool gives(const Tensor& got, const Values& want) {
  return allclose(got, tensor_of(want, got.shape()), 1e-12, 1e-12, true);
}

constexpr Reduction reductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

}  // namespace

TEST_CASE("binary cross-entropy with logits is exact for large logits of either sign") {
  const auto loss = [](double target) {
    return [target](const Tensor& x) {
      return binary_cross_entropy_with_logits(x, full_like(x, target), {.reduction = Reduction::none});
    };
  };
  const Tensor x = row({-800, -40, 800});
  CHECK(gives(loss(1)(x), {800, 40, 0}));
  CHECK(gives(loss(0)(x), {0, std::exp(-40.0), 800}));
  CHECK(gives(slope_at(x, loss(1)), {-1, -1, 0}));
  CHECK(gives(slope_at(x, loss(0)), {0, 1 / (1 + std::exp(40.0)), 1}));
  CHECK(gives(loss(0.5)(row({not_a_number, infinite, -infinite})), {not_a_number, infinite, not_a_number}));
  CHECK(gives(slope_at(row({not_a_number, infinite, -infinite}), loss(0.5)), {not_a_number, 0.5, -0.5}));
  const Tensor wide = full({1}, 90000, float32);
  CHECK(binary_cross_entropy_with_logits(wide, zeros({1})).item<float>() == 90000);
}

TEST_CASE("binary cross-entropy bounds its logarithms, and refuses what is no probability") {
  const auto loss = [](const Values& target) {
    return [target](const Tensor& x) {
      return binary_cross_entropy(x, row(target), {.reduction = Reduction::none});
    };
  };
  CHECK(gives(loss({0, 1, 1, 0, 0.5})(row({0, 1, 0, 1, 0.5})), {0, 0, 100, 100, std::log(2.0)}));
  CHECK(gives(slope_at(row({0, 1, 0, 1}), loss({0, 1, 1, 0})), {0, 0, -1e12, 1e12}));
  for (const Reduction reduction : reductions) {
    for (const double wrong : {-0.1, 1.5, not_a_number, infinite}) {
      CHECK(fails_with("binary_cross_entropy: all elements of the input must be from 0 to 1", [&] {
        binary_cross_entropy(row({0.5, wrong}), row({1, 0}), {.reduction = reduction});
      }));
    }
  }
  CHECK(gives(loss({not_a_number})(row({0.5})), {not_a_number}));
}

TEST_CASE("distances of NaN, of infinities and of equals") {
  const Tensor x = row({infinite, not_a_number, 1, 2}), target = row({0, 0, 1, 1});
  const auto each = Reduction::none;
  CHECK(gives(mse_loss(x, target, each), {infinite, not_a_number, 0, 1}));
  CHECK(gives(l1_loss(x, target, each), {infinite, not_a_number, 0, 1}));
  CHECK(
      gives(slope_at(x, [&](const Tensor& t) { return l1_loss(t, target, each); }), {1, not_a_number, 0, 1}));
  CHECK(gives(smooth_l1_loss(x, target, {.reduction = each}), {infinite, not_a_number, 0, 0.5}));
  CHECK(gives(slope_at(x, [&](const Tensor& t) { return smooth_l1_loss(t, target, {.reduction = each}); }),
              {1, not_a_number, 0, 1}));
  CHECK(gives(huber_loss(x, target, {.delta = 2, .reduction = each}), {infinite, not_a_number, 0, 0.5}));
  CHECK(gives(slope_at(target, [&](const Tensor& t) { return huber_loss(x, t, {.reduction = each}); }),
              {-1, not_a_number, 0, -1}));
}

TEST_CASE("a target of zero costs no divergence, whatever its logarithm") {
  const auto loss = [](const Tensor& x) {
    return kl_div(x, row({0, 0, 0.5}), {.reduction = KLDivReduction::none});
  };
  CHECK(gives(loss(row({-1, -infinite, -infinite})), {0, 0, infinite}));  // PyTorch: NaN in the middle
  CHECK(gives(slope_at(row({-1, -infinite, -1}), loss), {0, 0, -0.5}));
  CHECK(gives(loss(row({-1, not_a_number, -1})), {0, not_a_number, 0.5 * (std::log(0.5) + 1)}));
  const auto logarithmic = [](const Tensor& x) {
    return kl_div(x, row({-infinite, -infinite, -1}),
                  {.reduction = KLDivReduction::none, .log_target = true});
  };
  CHECK(gives(logarithmic(row({-1, -infinite, -1})), {0, 0, 0}));  // PyTorch: NaN, NaN, 0
  CHECK(gives(
      kl_div(zeros({4, 3}, float64), ones({4, 3}, float64) / 2, {.reduction = KLDivReduction::batchmean}),
      {1.5 * std::log(0.5)}));
}

TEST_CASE("losses over nothing: NaN as mean, 0 as sum, and the gradients are empty") {
  const Tensor x = zeros({0, 3}, float64), labels = zeros({0}, int64);
  CHECK(std::isnan(mse_loss(x, x).item<double>()));
  CHECK(mse_loss(x, x, Reduction::sum).item<double>() == 0);
  CHECK(huber_loss(x, x, {.reduction = Reduction::none}).shape() == Shape{0, 3});
  CHECK(std::isnan(nll_loss(x, labels).item<double>()));
  CHECK(nll_loss(x, labels, {.reduction = Reduction::sum}).item<double>() == 0);
  CHECK(std::isnan(cross_entropy(x, x).item<double>()));
  CHECK(slope_at(x, [&](const Tensor& t) { return mse_loss(t, x); }).shape() == Shape{0, 3});
  CHECK(slope_at(x, [&](const Tensor& t) { return nll_loss(t, labels); }).shape() == Shape{0, 3});
}

TEST_CASE("ignored rows of nll_loss: no loss, no gradient, NaN as the mean of nothing") {
  const Tensor x = scattered({2, 3}), ignored = full({2}, -100, int64), weights = zeros({3}, float64);
  CHECK(gives(nll_loss(x, ignored, {.reduction = Reduction::none}), {0, 0}));
  CHECK(nll_loss(x, ignored, {.reduction = Reduction::sum}).item<double>() == 0);
  CHECK(std::isnan(nll_loss(x, ignored).item<double>()));
  for (const Reduction reduction : reductions) {
    CHECK(bits_equal(
        slope_at(x, [&](const Tensor& t) { return nll_loss(t, ignored, {.reduction = reduction}); }),
        zeros({2, 3}, float64)));
  }
  // The same where all counted weights are zero (PyTorch: NaN).
  const auto weightless = [&](const Tensor& t) {
    return nll_loss(t, zeros({2}, int64), {.weight = weights});
  };
  CHECK(std::isnan(weightless(x).item<double>()));
  CHECK(equal(slope_at(x, weightless), zeros({2, 3}, float64)));
  // An ignore_index outside the classes, and one that is a class: for every reduction.
  const Tensor target = tensor({0, 1, 255, 2});
  const Tensor logs = log_softmax(zeros({4, 3}, float64), 1);
  const double ln3 = std::log(3.0);
  const auto loss = [&](Reduction r) {
    return nll_loss(logs, target, {.ignore_index = 255, .reduction = r});
  };
  CHECK(gives(loss(Reduction::none), {ln3, ln3, 0, ln3}));
  CHECK(gives(loss(Reduction::sum), {3 * ln3}));
  CHECK(gives(loss(Reduction::mean), {ln3}));
  CHECK(fails_with("nll_loss: the target of row 2 is 255", [&] { nll_loss(logs, target); }));
  CHECK(fails_with("nll_loss: the target of row 0 is -1", [&] { nll_loss(x, full({2}, -1, int64)); }));
}

TEST_CASE("class probabilities: one-hot ones are class indices; a probability of 0 counts nothing") {
  const Tensor x = scattered({3, 4}), labels = tensor({2, 0, 3});
  const Tensor hot = index_select(eye(4, 4, float64), 0, labels);
  for (const double smoothing : {0.0, 0.3}) {
    for (const Reduction reduction : reductions) {
      const CrossEntropyOptions options{.label_smoothing = smoothing, .reduction = reduction};
      CHECK(allclose(cross_entropy(x, hot, options), cross_entropy(x, labels, options), 1e-12, 1e-12));
    }
  }
  const Tensor masked = row({-infinite, 0, 0}), target = row({0, 0.5, 0.5});
  CHECK(gives(cross_entropy(masked, target), {std::log(2.0)}));  // PyTorch: NaN
  CHECK(gives(slope_at(masked, [&](const Tensor& t) { return cross_entropy(t, target); }), {0, 0, 0}));
  CHECK(gives(cross_entropy(row({1000, 0}), row({0, 1})), {1000}));
}

TEST_CASE("losses refuse inputs that do not fit, before anything is computed") {
  const Tensor x = scattered({4, 3}), probabilities = full({4, 3}, 0.5, float64);
  CHECK(fails_with("mse_loss: input and target must have one shape, got [4, 3] and [3]",
                   [&] { mse_loss(x, scattered({3})); }));
  CHECK(fails_with("l1_loss: needs a floating-point input, got int64",
                   [] { l1_loss(tensor({1}), tensor({1})); }));
  CHECK(fails_with("smooth_l1_loss: beta must not be negative, got -1",
                   [&] { smooth_l1_loss(x, x, {.beta = -1}); }));
  CHECK(fails_with("smooth_l1_loss: beta", [&] { smooth_l1_loss(x, x, {.beta = not_a_number}); }));
  CHECK(fails_with("huber_loss: delta must be above 0, got 0", [&] { huber_loss(x, x, {.delta = 0}); }));
  CHECK(fails_with("a weight of shape [4, 4, 3] does not broadcast to [4, 3]", [&] {
    binary_cross_entropy(probabilities, x, {.weight = scattered({4, 4, 3})});
  }));
  CHECK(fails_with("binary_cross_entropy_with_logits",
                   [&] { binary_cross_entropy_with_logits(x, x, {.pos_weight = scattered({4})}); }));
  CHECK(fails_with("nll_loss: target must be [4]", [&] { nll_loss(x, zeros({3}, int64)); }));
  CHECK(
      fails_with("nll_loss: target must hold class indices of int64, got float64", [&] { nll_loss(x, x); }));
  CHECK(fails_with("nll_loss: weight must be [3]",
                   [&] { nll_loss(x, zeros({4}, int64), {.weight = scattered({4})}); }));
  CHECK(fails_with(
      "cross_entropy: a target of float32 holds class probabilities, [4, 3] as the input; class indices "
      "are int64: to(target, int64). Got [4]",
      [&] {
        cross_entropy(ones({4, 3}), zeros({4}));
      }));
  CHECK(fails_with("cross_entropy: class probabilities know no ignore_index, got 1",
                   [&] { cross_entropy(x, probabilities, {.ignore_index = 1}); }));
  CHECK(fails_with("cross_entropy: label_smoothing must be from 0 to 1",
                   [&] { cross_entropy(x, probabilities, {.label_smoothing = 2}); }));
  CHECK(fails_with("cross_entropy: weight must be [3], got [4]",
                   [&] { cross_entropy(x, probabilities, {.weight = scattered({4})}); }));
  CHECK(fails_with("dropout2d: needs [N, C, H, W] or [N, C, L], got [4, 3]", [&] { dropout2d(x); }));
  CHECK(fails_with("cosine_similarity", [&] { cosine_similarity(x, scattered({4, 2})); }));
}

TEST_CASE("the target may have another dtype: integers count as numbers, a wider one widens") {
  const Tensor x = scattered({5}, -2, 2, float32), labels = tensor({0, 1, 1, 0, 1});
  CHECK(equal(mse_loss(x, labels), mse_loss(x, tensor_of({0, 1, 1, 0, 1}, {5}, float32))));
  CHECK(equal(binary_cross_entropy_with_logits(x, labels == 1),
              binary_cross_entropy_with_logits(x, tensor_of({0, 1, 1, 0, 1}, {5}, float32))));
  const Tensor leaf = laid_out(x, Lay::contiguous).requires_grad_();
  const Tensor loss = mse_loss(leaf, scattered({5}, 0, 1, float64));
  CHECK(loss.dtype() == float64);
  backward(loss);
  CHECK(leaf.grad().dtype() == float32);
}

TEST_CASE("vectors of zeros have no direction, in float16 too") {
  CHECK(gives(cosine_similarity(row({0, 0}), row({1, 0}), 0), {0}));
  CHECK(gives(normalize(row({0, 0}), 2, 0), {0, 0}));
  CHECK(equal(normalize(zeros({3}, float16), 2, 0), zeros({3}, float16)));  // PyTorch: NaN
}

TEST_CASE("dropout2d drops whole channels, each with a draw of its own") {
  manual_seed(1);
  const Tensor x = full({40, 50, 2, 3}, 1, float32);
  const Values values = values_of(dropout2d(x, 0.5));
  int64_t kept = 0;
  for (size_t channel = 0; channel < 2000; ++channel) {
    const double first = values[6 * channel];
    REQUIRE((first == 0 || first == 2));
    for (size_t i = 1; i < 6; ++i) REQUIRE(values[6 * channel + i] == first);
    kept += first != 0;
  }
  CHECK(std::abs(static_cast<double>(kept) - 1000) < 5 * std::sqrt(500.0));
  const auto seeded = [&](const Tensor& t) {
    manual_seed(2);
    return dropout2d(t, 0.5);
  };
  CHECK(equal(slope_at(x, seeded), seeded(x)));
  CHECK(dropout2d(x, 0.5, false).is_same(x));
  const Tensor endless = full({2, 3, 4, 4}, infinite, float32);
  CHECK(equal(dropout2d(endless, 1), zeros({2, 3, 4, 4})));
}
