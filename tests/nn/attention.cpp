// MultiheadAttention: gradients and state by check_layer, initial values, masks and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/nn/attention.h>
#include <tern/nn/check_layer.h>
#include <tern/nn/transformer.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

const Tensor query = scattered({3, 2, 6}, -1, 1, float32), key = scattered({4, 2, 6}, -2, 1, float32),
             value = scattered({4, 2, 6}, -1, 2, float32);

double largest_of(const Tensor& x) { return max(abs(x)).item<double>(); }

}  // namespace

TEST_CASE("MultiheadAttention is a sound layer") {
  nn::check_layer(nn::MultiheadAttention(6, 2), query, key, value);
  nn::check_layer(nn::MultiheadAttention(6, 3, {.dropout = 0.2, .bias = false, .batch_first = true}), query,
                  query, query);
  nn::check_layer(nn::MultiheadAttention(6, 1), scattered({3, 6}), scattered({4, 6}), scattered({4, 6}));
}

TEST_CASE("MultiheadAttention starts as PyTorch's, with its names") {
  const nn::MultiheadAttention layer(24, 4);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : layer.named_parameters()) names.push_back(name);
  CHECK(names ==
        std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"});
  CHECK(layer.in_proj_weight.shape() == Shape{72, 24});
  const double bound = std::sqrt(6.0 / (72 + 24)), out_bound = 1 / std::sqrt(24.0);
  CHECK(largest_of(layer.in_proj_weight) <= bound);
  CHECK(largest_of(layer.in_proj_weight) > 0.97 * bound);
  CHECK(largest_of(layer.out_proj.weight) <= out_bound);
  CHECK(largest_of(layer.out_proj.weight) > 0.95 * out_bound);
  CHECK(largest_of(layer.in_proj_bias) == 0);
  CHECK(largest_of(layer.out_proj.bias) == 0);
}

TEST_CASE("attention of a sequence to itself gives what three equal tensors give") {
  nn::MultiheadAttention layer(6, 2);
  CHECK(distance(layer(query, query, query), layer(query, clone(query), clone(query))) < 1e-6);
}

TEST_CASE("batch_first is the same with the first two dimensions exchanged") {
  nn::MultiheadAttention layer(6, 2), batch_first(6, 2, {.batch_first = true});
  batch_first.load_state_dict(layer.state_dict());
  const auto turned = [](const Tensor& x) { return transpose(x, 0, 1); };
  CHECK(distance(turned(batch_first(turned(query), turned(key), turned(value))), layer(query, key, value)) <
        1e-6);
}

TEST_CASE("masks: causal, of keys and of pairs say the same in each way") {
  nn::MultiheadAttention layer(6, 2);
  const Tensor later = triu(ones({3, 4}), 1) > 0;
  const Tensor causal = layer(query, key, value, {.is_causal = true});
  CHECK(distance(causal, layer(query, key, value, {.attn_mask = later})) < 1e-6);
  const Tensor minus = masked_fill(zeros({3, 4}), later, -INFINITY);
  CHECK(distance(causal, layer(query, key, value, {.attn_mask = minus})) < 1e-6);
  const Tensor each_head = contiguous(expand(unsqueeze(later, 0), {4, 3, 4}));
  CHECK(distance(causal, layer(query, key, value, {.attn_mask = each_head})) < 1e-6);

  const Tensor last = tensor({{false, false, false, true}, {false, false, false, true}});
  const Tensor shorter = layer(query, narrow(key, 0, 0, 3), narrow(value, 0, 0, 3), {.is_causal = true});
  CHECK(distance(layer(query, key, value, {.key_padding_mask = last, .is_causal = true}), shorter) < 1e-6);
  const Tensor added = masked_fill(zeros({2, 4}), last, -INFINITY);
  CHECK(distance(layer(query, key, value, {.key_padding_mask = added, .attn_mask = later}), shorter) < 1e-6);
}

TEST_CASE("a sequence that is all padding gives the output's bias and no NaN") {
  nn::MultiheadAttention layer(6, 2);
  const Tensor y =
      layer(query, key, value,
            {.key_padding_mask = tensor({{true, true, true, true}, {false, false, true, true}})});
  CHECK(largest_of(select(y, 1, 0)) == 0);
  CHECK(std::isfinite(sum(y).item<double>()));
}

TEST_CASE("a sequence that is all padding leaves the parameters' gradients as they are without it") {
  nn::MultiheadAttention layer(6, 2);
  const auto gradients = [&](const Tensor& y) { return grad(sum(square(y)), layer.parameters()); };
  const Tensor padding = tensor({{false, false, false, true}, {true, true, true, true}});
  const auto together = gradients(layer(query, key, value, {.key_padding_mask = padding}));
  const auto first = [](const Tensor& x) { return narrow(x, 1, 0, 1); };
  const auto alone = gradients(
      layer(first(query), first(key), first(value), {.key_padding_mask = narrow(padding, 0, 0, 1)}));
  for (size_t i = 0; i < alone.size(); ++i) CHECK(distance(together[i], alone[i]) < 1e-6);
}

TEST_CASE("MultiheadAttention refuses what does not fit") {
  CHECK(fails_with("embed_dim must be a multiple of num_heads, got 6 and 4",
                   [] { nn::MultiheadAttention(6, 4); }));
  CHECK(fails_with("embed_dim must be a multiple of num_heads", [] { nn::MultiheadAttention(6, 0); }));
  CHECK(fails_with("dropout must be from 0 to 1", [] { nn::MultiheadAttention(6, 2, {.dropout = 2}); }));
  nn::MultiheadAttention layer(6, 2);
  CHECK(fails_with("MultiheadAttention: query, key and value must have 3 dimensions",
                   [&] { layer(query, key, query); }));
  CHECK(fails_with("and one batch", [&] { layer(query, narrow(key, 1, 0, 1), narrow(key, 1, 0, 1)); }));
  CHECK(fails_with("the last of 6", [&] { layer(scattered({3, 2, 5}), key, value); }));
  CHECK(fails_with("key_padding_mask must be [N, S] = [2, 4], got [4, 2]", [&] {
    layer(query, key, value, {.key_padding_mask = empty({4, 2}, boolean)});
  }));
  CHECK(fails_with("attn_mask must be [L, S] = [3, 4] or [N * num_heads, L, S] = [4, 3, 4], got [4, 4]", [&] {
    layer(query, key, value, {.attn_mask = empty({4, 4}, boolean)});
  }));
}

TEST_CASE("TransformerEncoderLayer is a sound layer, with dropout in its places") {
  nn::check_layer(nn::TransformerEncoderLayer(6, 2, {.dim_feedforward = 5}), query);
  nn::check_layer(nn::TransformerEncoderLayer(6, 3,
                                              {.dim_feedforward = 5,
                                               .dropout = 0,
                                               .activation = nn::TransformerActivation::gelu,
                                               .batch_first = true,
                                               .norm_first = true,
                                               .bias = false}),
                  query);
  nn::TransformerEncoderLayer layer(6, 2, {.dropout = 1});
  layer.eval();
  const Tensor x = query;
  CHECK_FALSE(equal(layer(x), layer.norm2(layer.norm1(x))));
  layer.train();
  CHECK(equal(layer(x), layer.norm2(layer.norm1(x))));  // both branches dropped
  CHECK(fails_with("dropout must be from 0 to 1", [] { nn::TransformerEncoderLayer(6, 2, {.dropout = 2}); }));
}
