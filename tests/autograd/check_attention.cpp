#include <tern/autograd/functional.h>
#include <tern/core/random.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/check_op.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr const char* operation = "scaled_dot_product_attention";

Operation attention(const AttentionOptions& options) {
  return [options](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2], options); };
}

const std::vector<Shapes> samples{{{3, 4}, {5, 4}, {5, 6}},
                                  {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}},
                                  {{2, 1, 3, 2}, {2, 4, 2}, {1, 4, 3}},
                                  {{1, 1}, {1, 1}, {1, 1}},
                                  {{3, 2}, {0, 2}, {0, 4}},
                                  {{0, 2}, {3, 2}, {3, 4}},
                                  {{3, 0}, {2, 0}, {2, 1}},
                                  {{2, 20, 8}, {2, 37, 8}, {2, 37, 8}}};

}  // namespace

TEST_CASE("attention") {
  check_op(operation, attention({}), samples);
  check_op(operation, attention({.is_causal = true}), samples);
  check_op(operation, attention({.scale = 0.7}), samples);
  const auto with_dropout = [](const Inputs& x) {
    manual_seed(5);
    return scaled_dot_product_attention(x[0], x[1], x[2], {.dropout_p = 0.3});
  };
  check_op(operation, with_dropout, samples);
}

TEST_CASE("attention with masks") {
  // A third of the keys, and all of the second query's, are left out.
  const auto masked = [](const Inputs& x) {
    const Tensor mask = empty({x[0].size(-2), x[1].size(-2)}, boolean);
    for (int64_t i = 0; i < mask.numel(); ++i) mask.data<bool>()[i] = i % 3 != 1 && i / mask.size(1) != 1;
    return scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = mask});
  };
  check_op(operation, masked, samples);
  const auto added = [](const Inputs& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = x[3], .is_causal = true});
  };
  check_op(operation, added,
           {{{3, 4}, {5, 4}, {5, 6}, {3, 5}},
            {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}, {5}},
            {{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}, {2, 1, 3, 1}}});
}
