// Attention with several heads.
#pragma once

#include <tern/nn/linear.h>

namespace tern::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  ///< of the weights, in training
  bool bias = true;
  bool batch_first = false;  ///< [N, L, E] in place of [L, N, E]
};

/// Who may not see what, as in PyTorch's layer: bool masks are true for what is left out (the opposite of
/// scaled_dot_product_attention()), floating-point ones are added to the scores.
struct AttentionMasks {
  Tensor key_padding_mask = {};  ///< [N, S], or [S] without a batch: keys that nobody sees
  Tensor attn_mask = {};         ///< [L, S], or [N * num_heads, L, S]
  bool is_causal = false;        ///< query i sees keys 0, …, i only; needs no attn_mask, goes with one
};

/// out_proj(heads of attention(query, key, value) side by side), where the three are projected by the thirds
/// of in_proj_weight [3 E, E] and in_proj_bias [3 E] first (Vaswani et al., arXiv:1706.03762). query [L, N,
/// E], key and value [S, N, E] (or without N); the result is shaped as query. The weights themselves are not
/// returned. in_proj_weight starts from xavier_uniform_, biases from 0, out_proj.weight as Linear's.
class MultiheadAttention : public Layer<MultiheadAttention> {
 public:
  /// Throws Error unless embed_dim is a multiple of num_heads.
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, const MultiheadAttentionOptions& options = {});
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionMasks& masks = {});
  /// forward() by the call that braces pass through: layer(q, k, v, {.is_causal = true}).
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionMasks& masks = {}) {
    return Layer::operator()(query, key, value, masks);
  }
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;

 private:
  Tensor with_heads(const Tensor& x) const;

  int64_t num_heads_;
  MultiheadAttentionOptions options_;
};

}  // namespace tern::nn
