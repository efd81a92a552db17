#include <tern/nn/transformer.h>

#include <tern/autograd/operators.h>

namespace tern::nn {

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                                                 const TransformerEncoderLayerOptions& options)
    : self_attn(d_model, nhead,
                {.dropout = options.dropout, .bias = options.bias, .batch_first = options.batch_first}),
      linear1(d_model, options.dim_feedforward, {.bias = options.bias}),
      linear2(options.dim_feedforward, d_model, {.bias = options.bias}),
      norm1(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}),
      norm2(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}),
      dropout(options.dropout),
      dropout1(options.dropout),
      dropout2(options.dropout),
      activation_(options.activation),
      norm_first_(options.norm_first) {}

Tensor TransformerEncoderLayer::attended(const Tensor& x, const AttentionMasks& masks) {
  return dropout1(self_attn(x, x, x, masks));
}

Tensor TransformerEncoderLayer::fed_forward(const Tensor& x) {
  const Tensor y = linear1(x);
  return dropout2(linear2(dropout(activation_ == TransformerActivation::relu ? relu(y) : gelu(y))));
}

Tensor TransformerEncoderLayer::forward(const Tensor& x, const AttentionMasks& masks) {
  if (norm_first_) {
    const Tensor y = x + attended(norm1(x), masks);
    return y + fed_forward(norm2(y));
  }
  const Tensor y = norm1(x + attended(x, masks));
  return norm2(y + fed_forward(y));
}

void TransformerEncoderLayer::members(Visitor& visitor) {
  visitor.module("self_attn", self_attn);
  visitor.module("linear1", linear1);
  visitor.module("dropout", dropout);
  visitor.module("linear2", linear2);
  visitor.module("norm1", norm1);
  visitor.module("norm2", norm2);
  visitor.module("dropout1", dropout1);
  visitor.module("dropout2", dropout2);
}

}  // namespace tern::nn
