// Attention: rows that see nothing, masks, precision, and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

struct Sequences {
  Tensor query = scattered({2, 4, 3}, -2, 2).requires_grad_();
  Tensor key = scattered({2, 4, 3}, -2.1, 2).requires_grad_();
  Tensor value = scattered({2, 4, 3}, -2.2, 2).requires_grad_();

  Tensor attend(const AttentionOptions& options) const {
    return scaled_dot_product_attention(query, key, value, options);
  }
  std::vector<Tensor> gradients(const Tensor& y, const Tensor& dy) const {
    return grad(y, {query, key, value}, {.gradient = dy});
  }
};

// Sequence 1 is two long; query i sees keys i - 1, i, i + 1: its last query sees padding alone.
Tensor padded_band() {
  const Tensor mask = empty({2, 4, 4}, boolean);
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 4; ++j)
        mask.data<bool>()[(n * 4 + i) * 4 + j] = std::abs(i - j) <= 1 && (n == 0 || j < 2);
    }
  }
  return mask;
}

double largest_of(const Tensor& x) { return max(abs(x)).item<double>(); }

}  // namespace

TEST_CASE("a query without keys gives zeros and zero gradients, and leaves all others as they were") {
  const Sequences all;
  const Tensor mask = padded_band(), dy = upstream({2, 4, 3});
  const Tensor added = where(mask, 0.0 * ones({2, 4, 4}, float64), -INFINITY);
  for (const Tensor& given : {mask, added}) {
    const Tensor y = all.attend({.attn_mask = given});
    CHECK(equal(select(select(y, 0, 1), 0, 3), zeros({3}, float64)));
    const std::vector<Tensor> gradients = all.gradients(y, dy);
    CHECK(largest_of(select(select(gradients[0], 0, 1), 0, 3)) == 0);
    // Without that row: sequence 1 alone, three queries long.
    const auto one = [](const Tensor& x) { return select(x, 0, 1).detach(); };
    const Tensor query = clone(narrow(one(all.query), 0, 0, 3)).requires_grad_();
    const Tensor key = clone(one(all.key)).requires_grad_(), value = clone(one(all.value)).requires_grad_();
    const Tensor rest =
        scaled_dot_product_attention(query, key, value, {.attn_mask = narrow(one(given), 0, 0, 3)});
    CHECK(distance(narrow(one(y), 0, 0, 3), rest) < 1e-14);
    const auto alone = grad(rest, {query, key, value}, {.gradient = narrow(one(dy), 0, 0, 3)});
    CHECK(distance(narrow(one(gradients[0]), 0, 0, 3), alone[0]) < 1e-14);
    CHECK(distance(one(gradients[1]), alone[1]) < 1e-14);
    CHECK(distance(one(gradients[2]), alone[2]) < 1e-14);
  }
}

TEST_CASE("nothing but rows without keys is all zero, for a mask's gradient too") {
  const Sequences all;
  const Tensor mask = full({4, 4}, -INFINITY, float64).requires_grad_();
  const Tensor y = all.attend({.attn_mask = mask});
  CHECK(largest_of(y) == 0);
  for (const Tensor& gradient :
       grad(y, {all.query, all.key, all.value, mask}, {.gradient = upstream({2, 4, 3})}))
    CHECK(largest_of(gradient) == 0);
}

TEST_CASE("the causal mask is the lower triangle, and goes with another one") {
  const Sequences all;
  const Tensor triangle = tril(ones({4, 4})) > 0, band = padded_band();
  CHECK(distance(all.attend({.is_causal = true}), all.attend({.attn_mask = triangle})) < 1e-14);
  const Tensor both = all.attend({.attn_mask = band, .is_causal = true});
  CHECK(distance(both, all.attend({.attn_mask = logical_and(band, triangle)})) < 1e-14);
}

TEST_CASE("what is masked out does not show, were it infinite or NaN in the scores") {
  const Tensor query = tensor_of({1, 0, 0, 1}, {2, 2}), value = tensor_of({1, 2, 3, 4}, {2, 2});
  const Tensor key = tensor_of({1, 1, NAN, INFINITY}, {2, 2});
  const Tensor first = tensor({true, false});
  CHECK(bits_equal(scaled_dot_product_attention(query, key, value, {.attn_mask = first}),
                   tensor_of({1, 2, 1, 2}, {2, 2})));
  CHECK(std::isnan(values_of(scaled_dot_product_attention(query, key, value))[0]));
}

TEST_CASE("scores beyond float16 are computed in float32") {
  const Tensor query = full({1, 1, 2}, 300, float16),
               key = tensor_of({300, 300, 299, 299}, {1, 2, 2}, float16);
  const Tensor value = tensor_of({1, 2}, {1, 2, 1}, float16);
  const Tensor y = scaled_dot_product_attention(query, key, value);
  CHECK(y.dtype() == float16);
  CHECK(values_of(y) == std::vector<double>{1});
}

TEST_CASE("dropout of all weights gives zeros and zero gradients") {
  const Sequences all;
  const Tensor y = all.attend({.dropout_p = 1});
  CHECK(largest_of(y) == 0);
  for (const Tensor& gradient : all.gradients(y, upstream({2, 4, 3}))) CHECK(largest_of(gradient) == 0);
}

TEST_CASE("attention refuses what does not fit") {
  const Tensor x = scattered({2, 4, 3});
  const auto refuses = [&](const std::string& text, const Tensor& key, const Tensor& value,
                           const AttentionOptions& options = {}) {
    return fails_with("scaled_dot_product_attention: " + text,
                      [&] { scaled_dot_product_attention(x, key, value, options); });
  };
  CHECK(refuses("needs query [..., L, E], key [..., S, E]", scattered({2, 4, 2}), x));
  CHECK(refuses("needs query", x, scattered({2, 5, 3})));
  CHECK(refuses("needs query", scattered({3}), x));
  CHECK(refuses("shapes [2] and [3] do not broadcast", scattered({3, 4, 3}), x));
  CHECK(refuses("tensors must have one dtype, got float64 and float32", tern::to(x, float32), x));
  CHECK(refuses("dropout_p must be from 0 to 1, got 1.5", x, x, {.dropout_p = 1.5}));
  CHECK(refuses("attn_mask must be bool or of the query's dtype float64, got float32", x, x,
                {.attn_mask = zeros({4, 4})}));
  CHECK(refuses("shapes [2, 4, 4] and [3, 4, 4] do not broadcast", x, x,
                {.attn_mask = zeros({3, 4, 4}, float64)}));
  CHECK(refuses("attn_mask of shape [5, 2, 4, 4] does not broadcast to [2, 4, 4]", x, x,
                {.attn_mask = zeros({5, 2, 4, 4}, float64)}));
  CHECK(fails_with("scaled_dot_product_attention: needs floating-point tensors, got int64", [] {
    const Tensor whole = empty({2, 2}, int64);
    scaled_dot_product_attention(whole, whole, whole);
  }));
}
