#include <tern/nn/attention.h>

#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

#include <limits>

namespace tern::nn {
namespace {

// From true for what is left out to true for what takes part.
Tensor turned(const Tensor& mask) { return mask.dtype() == boolean ? logical_not(mask) : mask; }

Tensor added(const Tensor& mask, DType dtype) {
  if (mask.dtype() != boolean) return mask;
  return where(mask, zeros({}, dtype, mask.device()), -std::numeric_limits<double>::infinity());
}

// Of two masks of scaled_dot_product_attention (or none) the one that says both.
Tensor merged(const Tensor& a, const Tensor& b, DType dtype) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  if (a.dtype() == boolean && b.dtype() == boolean) return logical_and(a, b);
  return added(a, dtype) + added(b, dtype);
}

int64_t checked_features(int64_t embed_dim, int64_t num_heads) {
  check(num_heads >= 1 && embed_dim >= 1 && embed_dim % num_heads == 0,
        "MultiheadAttention: embed_dim must be a multiple of num_heads, got ", embed_dim, " and ", num_heads);
  return embed_dim;
}

void check_shapes(const Tensor& query, const Tensor& key, const Tensor& value, int64_t features,
                  int batch_dim) {
  const auto fits = [&](const Tensor& x) {
    return x.dim() == query.dim() && x.size(-1) == features &&
           (x.dim() == 2 || x.size(batch_dim) == query.size(batch_dim));
  };
  check((query.dim() == 2 || query.dim() == 3) && fits(query) && fits(key) && key.shape() == value.shape(),
        "MultiheadAttention: query, key and value must have 3 dimensions (2 without a batch), the last of ",
        features, ", and one batch, and key and value one shape, got ", query.shape(), ", ", key.shape(),
        " and ", value.shape());
}

// The mask for scores [N, heads, L, S] (or [heads, L, S]).
Tensor attention_mask(const AttentionMasks& masks, const Shape& scores, DType dtype) {
  const bool batched = scores.dim() == 4;
  const int64_t batch = batched ? scores[0] : 1, heads = scores[scores.dim() - 3];
  const int64_t queries = scores[scores.dim() - 2], keys = scores.back();
  Tensor padding = masks.key_padding_mask, mask = masks.attn_mask;
  if (padding.defined()) {
    check(padding.shape() == (batched ? Shape{batch, keys} : Shape{keys}),
          "MultiheadAttention: key_padding_mask must be [N, S] = [", batch, ", ", keys, "], got ",
          padding.shape());
    padding = reshape(turned(padding), batched ? Shape{batch, 1, 1, keys} : Shape{1, 1, keys});
  }
  if (mask.defined()) {
    const bool whole = mask.shape() == Shape{queries, keys};
    check(whole || mask.shape() == Shape{batch * heads, queries, keys},
          "MultiheadAttention: attn_mask must be [L, S] = [", queries, ", ", keys,
          "] or [N * num_heads, L, S] = [", batch * heads, ", ", queries, ", ", keys, "], got ",
          mask.shape());
    mask = whole ? turned(mask) : reshape(turned(mask), scores);
  }
  return merged(padding, mask, dtype);
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       const MultiheadAttentionOptions& options)
    : out_proj(checked_features(embed_dim, num_heads), embed_dim, {.bias = options.bias}),
      num_heads_(num_heads),
      options_(options) {
  check(options.dropout >= 0 && options.dropout <= 1, "MultiheadAttention: dropout must be from 0 to 1, got ",
        options.dropout);
  in_proj_weight = empty({3 * embed_dim, embed_dim});
  init::xavier_uniform_(in_proj_weight);
  in_proj_weight.requires_grad_();
  if (!options.bias) return;
  in_proj_bias = zeros({3 * embed_dim}).requires_grad_();
  init::constant_(out_proj.bias, 0);
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
  check_shapes(query, key, value, in_proj_weight.size(1), options_.batch_first ? 0 : 1);
  const std::vector<Tensor> weights = chunk(in_proj_weight, 3);
  const std::vector<Tensor> biases = in_proj_bias.defined() ? chunk(in_proj_bias, 3) : std::vector<Tensor>(3);
  const Tensor q = with_heads(linear(query, weights[0], biases[0]));
  const Tensor k = with_heads(linear(key, weights[1], biases[1]));
  const Tensor v = with_heads(linear(value, weights[2], biases[2]));
  Shape scores = q.shape();
  scores[q.dim() - 1] = k.size(-2);
  const Tensor y = scaled_dot_product_attention(q, k, v,
                                                {.attn_mask = attention_mask(masks, scores, q.dtype()),
                                                 .dropout_p = is_training() ? options_.dropout : 0,
                                                 .is_causal = masks.is_causal});
  const Tensor together = query.dim() == 2       ? permute(y, {1, 0, 2})
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
