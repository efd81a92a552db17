// The encoder layer of the transformer (Vaswani et al., arXiv:1706.03762), as torch.nn has it.
#pragma once

#include <tern/nn/attention.h>
#include <tern/nn/layers.h>
#include <tern/nn/normalization.h>

namespace tern::nn {

enum class TransformerActivation { relu, gelu };

struct TransformerEncoderLayerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;  ///< [N, T, E] in place of [T, N, E]
  bool norm_first = false;   ///< normalises before attention and feed-forward, not after
  bool bias = true;
};

/// x = norm1(x + dropout1(self_attn(x, x, x))); norm2(x +
/// dropout2(linear2(dropout(activation(linear1(x)))))), or with norm_first x + dropout1(self_attn(norm1(x),
/// …)) and so on. x is [T, N, d_model] (or without N).
class TransformerEncoderLayer : public Layer<TransformerEncoderLayer> {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, const TransformerEncoderLayerOptions& options = {});
  /// The masks are those of MultiheadAttention: attn_mask is PyTorch's src_mask, key_padding_mask its
  /// src_key_padding_mask.
  Tensor forward(const Tensor& x, const AttentionMasks& masks = {});
  /// forward() by the call that braces pass through.
  Tensor operator()(const Tensor& x, const AttentionMasks& masks = {}) { return Layer::operator()(x, masks); }
  void members(Visitor& visitor) override;

  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout, dropout1, dropout2;

 private:
  Tensor attended(const Tensor& x, const AttentionMasks& masks);
  Tensor fed_forward(const Tensor& x);

  TransformerActivation activation_;
  bool norm_first_;
};

}  // namespace tern::nn
