// What decides the shape of a BERT: the config.json of Hugging Face's models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tern::nn::models {

/// The defaults are bert-base-uncased's.
struct BertConfig {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  int64_t max_position_embeddings = 512;
  int64_t type_vocab_size = 2;
  int64_t pad_token_id = 0;         ///< its row of the word embeddings gets no gradient
  std::string hidden_act = "gelu";  ///< or "gelu_new", "gelu_pytorch_tanh" (both gelu by tanh), "relu"
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;  ///< standard deviation of initial weights
  int64_t num_labels = 2;           ///< classes of BertForSequenceClassification

  /// Throws Error naming the option for sizes below 1 (layers: below 0), heads that do not divide the hidden
  /// size, probabilities outside [0, 1] and a hidden_act that is none of the above.
  void validate() const;
  /// Reads a config.json; what it does not say has the default. The number of id2label's entries is
  /// num_labels where it is not there itself; classifier_dropout must be null or hidden_dropout_prob's.
  /// Throws IoError naming the file when it is missing, no such JSON, of another model_type than bert, a
  /// decoder, or asks for other than absolute positions; and for what validate() refuses.
  static BertConfig from_file(const std::filesystem::path& path);
  /// Writes a config.json that from_file() and Hugging Face's BertConfig read. Throws IoError.
  void save(const std::filesystem::path& path) const;
};

}  // namespace tern::nn::models
