// BERT (Devlin et al., arXiv:1810.04805), with the structure, parameter names and initial values of Hugging
// Face's models: their weights load as they are.
//
//   auto model = nn::models::BertForSequenceClassification::from_pretrained("bert-base-uncased");
//   const Tensor logits = model(batch.input_ids, batch.attention_mask, batch.token_type_ids);
#pragma once

#include <tern/nn/embedding.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/models/bert_config.h>
#include <tern/nn/module_list.h>
#include <tern/nn/normalization.h>

#include <optional>

namespace tern::nn::models {

/// LayerNorm(word + position + type), then dropout: [N, L, hidden_size] of input_ids and token_type_ids [N,
/// L].
class BertEmbeddings : public Layer<BertEmbeddings> {
 public:
  explicit BertEmbeddings(const BertConfig& config);
  Tensor forward(const Tensor& input_ids, const Tensor& token_type_ids);
  void members(Visitor& visitor) override;

  Embedding word_embeddings, position_embeddings, token_type_embeddings;
  LayerNorm layer_norm;
  Dropout dropout;
};

/// x = attention_norm(x + dropout(attention_output(attention of query, key and value of x))); output_norm(x +
/// dropout(output(activation(intermediate(x))))).
class BertLayer : public Layer<BertLayer> {
 public:
  explicit BertLayer(const BertConfig& config);
  /// x [N, L, hidden_size]; mask, bool, broadcasts to [N, heads, L, L]: true takes part; or is undefined.
  Tensor forward(const Tensor& x, const Tensor& mask);
  void members(Visitor& visitor) override;

  Linear query, key, value, attention_output;
  LayerNorm attention_norm;
  Linear intermediate, output;
  LayerNorm output_norm;
  Dropout dropout;

 private:
  Tensor attended(const Tensor& x, const Tensor& mask);
  Tensor activated(const Tensor& x) const;

  BertConfig config_;
};

struct BertOutput {
  Tensor last_hidden_state;  ///< [N, L, hidden_size]
  Tensor pooler_output;      ///< tanh(pooler(the first token's)): [N, hidden_size]
};

class BertModel : public Layer<BertModel> {
 public:
  /// Weights start from N(0, initializer_range^2), biases from 0. Throws Error as BertConfig::validate().
  explicit BertModel(const BertConfig& config);
  /// From a folder's config.json and model.safetensors. Names may begin with "bert." or not; LayerNorm's may
  /// end in gamma and beta. Heads ("cls.…", "classifier.…") and position_ids are passed over. Throws IoError
  /// naming the file and each tensor that is missing, unexpected, or of another shape.
  static BertModel from_pretrained(const std::filesystem::path& folder);

  /// input_ids [N, L], int64. attention_mask [N, L]: 0 for padding, which nobody attends to; all ones by
  /// default. token_type_ids [N, L]: all zeros by default. Throws Error for other shapes, for L above
  /// max_position_embeddings, and for an id that is no token's.
  BertOutput forward(const Tensor& input_ids, const Tensor& attention_mask = {},
                     const Tensor& token_type_ids = {});
  void members(Visitor& visitor) override;
  const BertConfig& config() const { return config_; }

  BertEmbeddings embeddings;
  ModuleList<BertLayer> layers;
  Linear pooler;

 private:
  BertConfig config_;
};

/// A class for each text or pair: classifier(dropout(pooler_output)), logits [N, num_labels].
class BertForSequenceClassification : public Layer<BertForSequenceClassification> {
 public:
  explicit BertForSequenceClassification(const BertConfig& config);
  /// As BertModel::from_pretrained(), with the head classifier.weight and classifier.bias; where neither is
  /// there, the head keeps initial values, drawn from the default generator. `num_labels` wins over the
  /// config's.
  static BertForSequenceClassification from_pretrained(const std::filesystem::path& folder,
                                                       std::optional<int64_t> num_labels = {});
  /// Writes config.json and model.safetensors into `folder`, which is made: what from_pretrained() here and
  /// in Hugging Face's library reads. Throws IoError.
  void save_pretrained(const std::filesystem::path& folder) const;

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask = {},
                 const Tensor& token_type_ids = {});
  void members(Visitor& visitor) override;
  const BertConfig& config() const { return bert.config(); }

  BertModel bert;
  Dropout dropout;
  Linear classifier;
};

}  // namespace tern::nn::models
