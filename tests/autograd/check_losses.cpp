#include <tern/autograd/functional.h>
#include <tern/autograd/losses.h>
#include <tern/core/random.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/check_op.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// Classes 0, 2, 4, … in turn for logits of this shape; where `ignored` is given, every third row has it.
Tensor targets_for(const Shape& logits, std::optional<int64_t> ignored = {}) {
  Shape shape = logits;
  const int64_t classes = shape[shape.dim() > 1];
  shape.erase(shape.dim() > 1);
  Tensor target = empty(shape, int64);
  for (int64_t i = 0; i < target.numel(); ++i)
    target.data<int64_t>()[i] = ignored && i % 3 == 1 ? *ignored : 2 * i % classes;
  return target;
}

}  // namespace

TEST_CASE("softmax and its logarithm") {
  const std::vector<Shapes> samples{{{7}},    {{3, 5}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{1, 9}},     {{9, 1}},
                                    {{0, 4}}, {{4, 0}}, {{17, 33}},  {{130, 131}},   {{3, 31, 16}}};
  for (const int64_t dim : {0, -1}) {
    check_op(
        "softmax", [=](const Inputs& x) { return softmax(x[0], dim); }, samples);
    check_op(
        "log_softmax", [=](const Inputs& x) { return log_softmax(x[0], dim); }, samples);
  }
  check_op("softmax", [](const Inputs& x) { return softmax(x[0], 1); }, {{{2, 3, 4}}, {{2, 8, 3, 3}}});
  check_op("log_softmax", [](const Inputs& x) { return log_softmax(x[0], 1); },
           {{{2, 3, 4}}, {{2, 8, 3, 3}}});
}

TEST_CASE("cross entropy") {
  const std::vector<Shapes> samples{{{6, 5}},    {{1, 1}},       {{3, 17}}, {{9, 10}},  {{5}},
                                    {{2, 4, 3}}, {{2, 3, 2, 4}}, {{33, 8}}, {{40, 410}}};
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    for (const double smoothing : {0.0, 0.2}) {
      const auto options = [=](const Tensor& weight, int64_t ignore) {
        return CrossEntropyOptions{weight, ignore, smoothing, reduction};
      };
      check_op(
          "cross_entropy",
          [=](const Inputs& x) { return cross_entropy(x[0], targets_for(x[0].shape()), options({}, -100)); },
          samples);
      const auto weighted = [=](const Inputs& x) {
        const Shape& shape = x[0].shape();
        const Tensor weight = scattered({shape[shape.dim() > 1]}, 0.2, 2, x[0].dtype());
        return cross_entropy(x[0], targets_for(shape, -7), options(weight, -7));
      };
      check_op("cross_entropy", weighted, samples);
    }
  }
  check_op("cross_entropy",
           [](const Inputs& x) {
             return cross_entropy(x[0], targets_for(x[0].shape()), {.reduction = Reduction::sum});
           },
           {{{0, 3}}});
}

TEST_CASE("dropout") {
  const auto seeded = [](const Inputs& x) {
    manual_seed(5);
    return dropout(x[0], 0.3);
  };
  check_op("dropout", seeded, one_input());
}
