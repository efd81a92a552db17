// Attention and the layers made of it against PyTorch's values (tests/golden/golden_attention.py).
#include <tern/autograd/functional.h>
#include <tern/kernels/creation.h>
#include <tern/nn/attention.h>
#include <tern/nn/transformer.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

Tensors golden_attention(const Tensors& x, const Parameters& p) {
  AttentionOptions options{.is_causal = p.flag("causal")};
  if (x.size() > 3) options.attn_mask = x[3];
  if (p.has("scale")) options.scale = p.number("scale");
  return {scaled_dot_product_attention(x[0], x[1], x[2], options)};
}

// Inputs: one or three arguments, the parameters, the masks.
Tensors golden_multihead(const Tensors& x, const Parameters& p) {
  const bool bias = p.flag("bias");
  nn::MultiheadAttention layer(6, 2, {.bias = bias, .batch_first = p.flag("batch_first")});
  auto next = x.begin() + static_cast<int64_t>(p.number("arguments"));
  layer.in_proj_weight = *next++;
  if (bias) layer.in_proj_bias = *next++;
  layer.out_proj.weight = *next++;
  if (bias) layer.out_proj.bias = *next++;
  nn::AttentionMasks masks;
  if (p.text("masks").find("key_padding_mask") != std::string::npos) masks.key_padding_mask = *next++;
  if (p.text("masks").find("attn_mask") != std::string::npos) masks.attn_mask = *next++;
  const bool self = p.number("arguments") == 1;
  return {layer(x[0], x[self ? 0 : 1], x[self ? 0 : 2], masks)};
}

Tensors golden_encoder(const Tensors& x, const Parameters& p) {
  nn::TransformerEncoderLayerOptions options{.dim_feedforward = 7, .dropout = 0};
  if (p.has("activation")) options.activation = nn::TransformerActivation::gelu;
  if (p.has("batch_first")) options.batch_first = p.flag("batch_first");
  if (p.has("norm_first")) options.norm_first = p.flag("norm_first");
  if (p.has("bias")) options.bias = p.flag("bias");
  nn::TransformerEncoderLayer layer(6, 2, options);
  size_t next = 1;
  layer.each_tensor([&](const std::string&, Tensor& parameter) { parameter = x.at(next++); });
  nn::AttentionMasks masks;
  if (p.has("padding")) masks.key_padding_mask = tensor({{false, false, true}, {false, false, false}});
  return {layer(x[0], masks)};
}

}  // namespace

TEST_CASE("attention agrees with PyTorch, value and gradients") {
  CHECK(golden_problems("attention.safetensors", {{"attention", golden_attention},
                                                  {"multihead", golden_multihead},
                                                  {"encoder", golden_encoder}}) == "");
}
