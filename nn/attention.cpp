#include <tern/nn/attention.h>

#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/views.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

#include <limits>

namespace tern::nn {
namespace {

// From true for what is left out to true for what takes part.
Tensor turned(const Tensor& mask) { return mask.dtype() == boolean ? logical_not(mask) : mask; }

Tensor added(const Tensor& mask, DType dtype) {
  if (mask.dtype() != boolean) return mask;
  const Tensor zero = empty({}, dtype, mask.device());
  fill_(zero, 0);
  return where(mask, zero, -std::numeric_limits<double>::infinity());
}

// Of two masks of scaled_dot_product_attention (or none) the one that says both.
Tensor merged(const Tensor& a, const Tensor& b, DType dtype) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  if (a.dtype() == boolean && b.dtype() == boolean) return logical_and(a, b);
  return added(a, dtype) + added(b, dtype);
}

void check_shapes(const Tensor& query, const Tensor& key, const Tensor& value, int64_t features) {
  const auto fits = [&](const Tensor& x) { return x.dim() == query.dim() && x.size(-1) == features; };
  check((query.dim() == 2 || query.dim() == 3) && fits(query) && fits(key) && key.shape() == value.shape(),
        "MultiheadAttention: query, key and value must have 3 dimensions (2 without a batch), the last of ",
        features, ", and key and value one shape, got ", query.shape(), ", ", key.shape(), " and ",
        value.shape());
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       const MultiheadAttentionOptions& options)
    : out_proj((check(num_heads >= 1 && embed_dim >= 1 && embed_dim % num_heads == 0,
                      "MultiheadAttention: embed_dim must be a multiple of num_heads, got ", embed_dim,
                      " and ", num_heads),
                embed_dim),
               embed_dim, {.bias = options.bias}),
      num_heads_(num_heads),
      options_(options) {
  check(options.dropout >= 0 && options.dropout <= 1, "MultiheadAttention: dropout must be from 0 to 1, got ",
        options.dropout);
  check(embed_dim <= std::numeric_limits<int64_t>::max() / 3, "MultiheadAttention: embed_dim is ", embed_dim);
  in_proj_weight = empty({3 * embed_dim, embed_dim});
  init::xavier_uniform_(in_proj_weight);
  in_proj_weight.requires_grad_();
  if (!options.bias) return;
  in_proj_bias = empty({3 * embed_dim});
  init::constant_(in_proj_bias, 0);
  in_proj_bias.requires_grad_();
  init::constant_(out_proj.bias, 0);
}

std::vector<Tensor> MultiheadAttention::projected(const Tensor& query, const Tensor& key,
                                                  const Tensor& value) const {
  if (query.is_same(key) && key.is_same(value)) {  // one product instead of three
    return chunk(linear(query, in_proj_weight, in_proj_bias), 3, -1);
  }
  const std::vector<Tensor> weights = chunk(in_proj_weight, 3);
  const std::vector<Tensor> biases = in_proj_bias.defined() ? chunk(in_proj_bias, 3) : std::vector<Tensor>(3);
  return {linear(query, weights[0], biases[0]), linear(key, weights[1], biases[1]),
          linear(value, weights[2], biases[2])};
}

// [N, heads, L, E / heads], or without N.
Tensor MultiheadAttention::with_heads(const Tensor& x) const {
  const bool batched = x.dim() == 3;
  Shape shape = x.shape();
  shape[x.dim() - 1] /= num_heads_;
  shape.insert(x.dim() - 1, num_heads_);
  const Tensor split = reshape(x, shape);
  if (!batched) return permute(split, {1, 0, 2});
  return options_.batch_first ? permute(split, {0, 2, 1, 3}) : permute(split, {1, 2, 0, 3});
}

Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const AttentionMasks& masks) {
  const int64_t features = in_proj_weight.size(1);
  check_shapes(query, key, value, features);
  const std::vector<Tensor> parts = projected(query, key, value);
  const Tensor q = with_heads(parts[0]), k = with_heads(parts[1]), v = with_heads(parts[2]);
  const bool batched = query.dim() == 3;
  const int64_t batch = batched ? q.size(0) : 1, queries = q.size(-2), keys = k.size(-2);
  Tensor padding = masks.key_padding_mask, mask = masks.attn_mask;
  if (padding.defined()) {
    check(padding.shape() == (batched ? Shape{batch, keys} : Shape{keys}),
          "MultiheadAttention: key_padding_mask must be [N, S] = [", batch, ", ", keys, "], got ",
          padding.shape());
    padding = reshape(turned(padding), batched ? Shape{batch, 1, 1, keys} : Shape{1, 1, keys});
  }
  if (mask.defined()) {
    const bool whole = mask.shape() == Shape{queries, keys};
    check(whole || mask.shape() == Shape{batch * num_heads_, queries, keys},
          "MultiheadAttention: attn_mask must be [L, S] = [", queries, ", ", keys,
          "] or [N * num_heads, L, S] = [", batch * num_heads_, ", ", queries, ", ", keys, "], got ",
          mask.shape());
    mask = turned(mask);
    if (!whole && batched) mask = reshape(mask, {batch, num_heads_, queries, keys});
  }
  const Tensor y = scaled_dot_product_attention(q, k, v,
                                                {.attn_mask = merged(padding, mask, q.dtype()),
                                                 .dropout_p = is_training() ? options_.dropout : 0,
                                                 .is_causal = masks.is_causal});
  const Tensor together = !batched               ? permute(y, {1, 0, 2})
                          : options_.batch_first ? permute(y, {0, 2, 1, 3})
                                                 : permute(y, {2, 0, 1, 3});
  return out_proj(reshape(together, query.shape()));
}

void MultiheadAttention::members(Visitor& visitor) {
  visitor.parameter("in_proj_weight", in_proj_weight);
  visitor.parameter("in_proj_bias", in_proj_bias);
  visitor.module("out_proj", out_proj);
}

std::string MultiheadAttention::describe() const {
  return fmt::format("MultiheadAttention(embed_dim={}, num_heads={}, dropout={}, batch_first={})",
                     in_proj_weight.size(1), num_heads_, options_.dropout, options_.batch_first);
}

}  // namespace tern::nn
