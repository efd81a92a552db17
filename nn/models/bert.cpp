#include <tern/nn/models/bert.h>

#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/kernels/creation.h>
#include <tern/nn/init.h>

namespace tern::nn::models {
namespace {

// The config once it is known to make sense: members are made of it.
const BertConfig& checked(const BertConfig& config) {
  config.validate();
  return config;
}

LayerNorm norm_of(const BertConfig& config) {
  return LayerNorm(config.hidden_size, {.eps = config.layer_norm_eps});
}

void set_initial_values(Module& module, const BertConfig& config) {
  module.each_module([&](const std::string&, Module& part) {
    if (const auto* linear = dynamic_cast<Linear*>(&part)) {
      init::normal_(linear->weight, 0, config.initializer_range);
      init::zeros_(linear->bias);
    } else if (const auto* embedding = dynamic_cast<Embedding*>(&part)) {
      init::normal_(embedding->weight, 0, config.initializer_range);
    }
  });
}

void check_ids(const Tensor& ids, const Tensor& mask, const Tensor& types, int64_t longest) {
  check(ids.dim() == 2, "BertModel: input_ids must be [N, L], got ", ids.shape());
  check(ids.size(1) <= longest, "BertModel: texts of ", ids.size(1), " tokens are longer than ",
        "max_position_embeddings = ", longest);
  check(!mask.defined() || mask.shape() == ids.shape(), "BertModel: attention_mask must be ", ids.shape(),
        " as input_ids are, got ", mask.defined() ? mask.shape() : Shape());
  check(!types.defined() || types.shape() == ids.shape(), "BertModel: token_type_ids must be ", ids.shape(),
        " as input_ids are, got ", types.defined() ? types.shape() : Shape());
}

}  // namespace

BertEmbeddings::BertEmbeddings(const BertConfig& config)
    : word_embeddings(config.vocab_size, config.hidden_size, {.padding_idx = config.pad_token_id}),
      position_embeddings(config.max_position_embeddings, config.hidden_size),
      token_type_embeddings(config.type_vocab_size, config.hidden_size),
      layer_norm(norm_of(config)),
      dropout(config.hidden_dropout_prob) {}

Tensor BertEmbeddings::forward(const Tensor& input_ids, const Tensor& token_type_ids) {
  const Tensor positions = narrow(position_embeddings.weight, 0, 0, input_ids.size(1));
  const Tensor sum = word_embeddings(input_ids) + token_type_embeddings(token_type_ids) + positions;
  return dropout(layer_norm(sum));
}

void BertEmbeddings::members(Visitor& visitor) {
  visitor.module("word_embeddings", word_embeddings);
  visitor.module("position_embeddings", position_embeddings);
  visitor.module("token_type_embeddings", token_type_embeddings);
  visitor.module("LayerNorm", layer_norm);
  visitor.module("dropout", dropout);
}

BertLayer::BertLayer(const BertConfig& config)
    : query(config.hidden_size, config.hidden_size),
      key(config.hidden_size, config.hidden_size),
      value(config.hidden_size, config.hidden_size),
      attention_output(config.hidden_size, config.hidden_size),
      attention_norm(norm_of(config)),
      intermediate(config.hidden_size, config.intermediate_size),
      output(config.intermediate_size, config.hidden_size),
      output_norm(norm_of(config)),
      dropout(config.hidden_dropout_prob),
      config_(config) {}

Tensor BertLayer::attended(const Tensor& x, const Tensor& mask) {
  const int64_t heads = config_.num_attention_heads;
  const Shape split{x.size(0), x.size(1), heads, x.size(2) / heads};
  const auto with_heads = [&](const Tensor& y) { return permute(reshape(y, split), {0, 2, 1, 3}); };
  const Tensor y = scaled_dot_product_attention(
      with_heads(query(x)), with_heads(key(x)), with_heads(value(x)),
      {.attn_mask = mask, .dropout_p = is_training() ? config_.attention_probs_dropout_prob : 0});
  return reshape(permute(y, {0, 2, 1, 3}), x.shape());
}

Tensor BertLayer::activated(const Tensor& x) const {
  if (config_.hidden_act == "relu") return relu(x);
  return gelu(x, config_.hidden_act == "gelu" ? GeluApproximation::none : GeluApproximation::tanh);
}

Tensor BertLayer::forward(const Tensor& x, const Tensor& mask) {
  const Tensor y = attention_norm(dropout(attention_output(attended(x, mask))) + x);
  return output_norm(dropout(output(activated(intermediate(y)))) + y);
}

void BertLayer::members(Visitor& visitor) {
  visitor.module("attention.self.query", query);
  visitor.module("attention.self.key", key);
  visitor.module("attention.self.value", value);
  visitor.module("attention.output.dense", attention_output);
  visitor.module("attention.output.LayerNorm", attention_norm);
  visitor.module("intermediate.dense", intermediate);
  visitor.module("output.dense", output);
  visitor.module("output.LayerNorm", output_norm);
  visitor.module("dropout", dropout);
}

BertModel::BertModel(const BertConfig& config)
    : embeddings(checked(config)),
      layers(ModuleList<BertLayer>::repeat(config.num_hidden_layers, [&] { return BertLayer(config); })),
      pooler(config.hidden_size, config.hidden_size),
      config_(config) {
  set_initial_values(*this, config);
  init::zeros_(select(embeddings.word_embeddings.weight.detach(), 0, config.pad_token_id));
}

BertOutput BertModel::forward(const Tensor& input_ids, const Tensor& attention_mask,
                              const Tensor& token_type_ids) {
  check_ids(input_ids, attention_mask, token_type_ids, config_.max_position_embeddings);
  const Tensor types = token_type_ids.defined() ? token_type_ids : zeros_like(input_ids);
  Tensor mask;
  if (attention_mask.defined())
    mask = reshape(ne(attention_mask, 0), {input_ids.size(0), 1, 1, input_ids.size(1)});
  Tensor x = embeddings(input_ids, types);
  for (BertLayer& layer : layers) x = layer(x, mask);
  return {x, tanh(pooler(select(x, 1, 0)))};
}

void BertModel::members(Visitor& visitor) {
  visitor.module("embeddings", embeddings);
  visitor.module("encoder.layer", layers);
  visitor.module("pooler.dense", pooler);
}

BertForSequenceClassification::BertForSequenceClassification(const BertConfig& config)
    : bert(config), dropout(config.hidden_dropout_prob), classifier(config.hidden_size, config.num_labels) {
  set_initial_values(classifier, config);
}

Tensor BertForSequenceClassification::forward(const Tensor& input_ids, const Tensor& attention_mask,
                                              const Tensor& token_type_ids) {
  return classifier(dropout(bert(input_ids, attention_mask, token_type_ids).pooler_output));
}

void BertForSequenceClassification::members(Visitor& visitor) {
  visitor.module("bert", bert);
  visitor.module("dropout", dropout);
  visitor.module("classifier", classifier);
}

}  // namespace tern::nn::models
