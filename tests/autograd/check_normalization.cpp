#include <tern/autograd/functional.h>
#include <tern/tests/support/check_op.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// Input, weight, bias: channels around the widths of vectors, rows around those of blocks.
const std::vector<Shapes> channels{{{2, 3, 2, 3}, {3}, {3}},   {{4, 5}, {5}, {5}},
                                   {{3, 4, 5}, {4}, {4}},      {{2, 1, 3, 2}, {1}, {1}},
                                   {{67, 70}, {70}, {70}},     {{2, 20, 5, 7}, {20}, {20}},
                                   {{1, 2, 130, 9}, {2}, {2}}, {{0, 3, 2, 2}, {3}, {3}}};
const std::vector<Shapes> rows{{{4, 5}, {5}, {5}},       {{2, 3, 7}, {7}, {7}},       {{3}, {3}, {3}},
                               {{2, 2, 2, 3}, {3}, {3}}, {{9, 131}, {131}, {131}},    {{300, 3}, {3}, {3}},
                               {{0, 3}, {3}, {3}},       {{3, 1100}, {1100}, {1100}}, {{2, 0}, {0}, {0}}};

Shape tail(const Inputs& x) { return x[1].shape(); }

}  // namespace

TEST_CASE("batch norm, by the batch's statistics and by running ones") {
  check_op(
      "batch_norm", [](const Inputs& x) { return batch_norm(x[0], {}, {}, x[1], x[2], {.training = true}); },
      channels);
  check_op(
      "batch_norm",
      [](const Inputs& x) {
        const Tensor mean = scattered(x[1].shape(), -1, 1, float32);
        const Tensor var = scattered(x[1].shape(), 0.5, 2, float32);
        return batch_norm(x[0], mean, var, x[1], x[2], {.eps = 0.1});
      },
      channels);
  check_op("batch_norm", [](const Inputs& x) { return batch_norm(x[0], {}, {}, {}, {}, {.training = true}); },
           {{{2, 3, 2, 3}}, {{9, 17}}});
}

TEST_CASE("layer norm and RMS norm") {
  check_op(
      "layer_norm", [](const Inputs& x) { return layer_norm(x[0], tail(x), x[1], x[2], 0.1); }, rows);
  check_op("layer_norm",
           [](const Inputs& x) {
             return layer_norm(x[0], {3, 4}, x[1]);
           },
           {{{2, 3, 4}, {3, 4}}, {{3, 4}, {3, 4}}});
  check_op("layer_norm", [](const Inputs& x) { return layer_norm(x[0], {5}); }, {{{4, 5}}});
  std::vector<Shapes> unbiased = rows;
  for (Shapes& shapes : unbiased) shapes.pop_back();
  check_op(
      "rms_norm", [](const Inputs& x) { return rms_norm(x[0], tail(x), x[1], 0.1); }, unbiased);
  check_op("rms_norm", [](const Inputs& x) { return rms_norm(x[0], {3, 4}); }, {{{2, 3, 4}}, {{3, 4}}});
}

TEST_CASE("group norm") {
  const std::vector<Shapes> samples{{{2, 4, 2, 3}, {4}, {4}}, {{3, 6}, {6}, {6}},
                                    {{2, 6, 5}, {6}, {6}},    {{2, 40, 3, 5}, {40}, {40}},
                                    {{0, 4, 2}, {4}, {4}},    {{1, 2, 90, 7}, {2}, {2}}};
  for (const int64_t groups : {1, 2}) {
    check_op(
        "group_norm", [=](const Inputs& x) { return group_norm(x[0], groups, x[1], x[2], 0.1); }, samples);
  }
  check_op("group_norm", [](const Inputs& x) { return group_norm(x[0], 4); }, {{{2, 4, 3, 2}}});
}
