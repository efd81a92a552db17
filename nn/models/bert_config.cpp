#include <tern/nn/models/bert_config.h>

#include <tern/core/error.h>

#include <array>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tern::nn::models {
namespace {

using Json = nlohmann::json;

void check_size(const char* name, int64_t value, int64_t least = 1) {
  check(value >= least, "BertConfig: ", name, " must be at least ", least, ", got ", value);
}

void check_probability(const char* name, double value) {
  check(value >= 0 && value <= 1, "BertConfig: ", name, " must be from 0 to 1, got ", value);
}

// Calls action(name, option) for each.
template <class Config, class Action>
void each_option(Config& config, const Action& action) {
  action("vocab_size", config.vocab_size);
  action("hidden_size", config.hidden_size);
  action("num_hidden_layers", config.num_hidden_layers);
  action("num_attention_heads", config.num_attention_heads);
  action("intermediate_size", config.intermediate_size);
  action("max_position_embeddings", config.max_position_embeddings);
  action("type_vocab_size", config.type_vocab_size);
  action("pad_token_id", config.pad_token_id);
  action("hidden_act", config.hidden_act);
  action("hidden_dropout_prob", config.hidden_dropout_prob);
  action("attention_probs_dropout_prob", config.attention_probs_dropout_prob);
  action("layer_norm_eps", config.layer_norm_eps);
  action("initializer_range", config.initializer_range);
  action("num_labels", config.num_labels);
}

void read(const Json& json, const char* name, int64_t& value) {
  check(json.is_number_integer(), name, " must be a whole number, got ", json.dump());
  value = json.get<int64_t>();
}
void read(const Json& json, const char* name, double& value) {
  check(json.is_number(), name, " must be a number, got ", json.dump());
  value = json.get<double>();
}
void read(const Json& json, const char* name, std::string& value) {
  check(json.is_string(), name, " must be text, got ", json.dump());
  value = json.get<std::string>();
}

// What changes the model's formula and is not supported.
void check_kind(const Json& json) {
  const auto is = [&](const char* name, const Json& wanted) {
    check(!json.contains(name) || json[name] == wanted, name, " must be ", wanted.dump(), ", got ",
          json.value(name, Json()).dump());
  };
  is("model_type", "bert");
  is("position_embedding_type", "absolute");
  is("is_decoder", false);
  is("add_cross_attention", false);
}

BertConfig parse(const Json& json) {
  check(json.is_object(), "is no JSON object");
  check_kind(json);
  BertConfig config;
  if (json.contains("id2label")) config.num_labels = static_cast<int64_t>(json["id2label"].size());
  each_option(config, [&](const char* name, auto& value) {
    if (json.contains(name) && !json[name].is_null()) read(json[name], name, value);
  });
  const Json dropout = json.value("classifier_dropout", Json());
  check(dropout.is_null() || dropout == config.hidden_dropout_prob,
        "classifier_dropout must be null or as hidden_dropout_prob, got ", dropout.dump());
  config.validate();
  return config;
}

}  // namespace

void BertConfig::validate() const {
  each_option(*this, [](const char* name, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const int64_t&>) {
      const bool may_be_zero =
          name == std::string_view("num_hidden_layers") || name == std::string_view("pad_token_id");
      check_size(name, value, may_be_zero ? 0 : 1);
    }
  });
  check(hidden_size % num_attention_heads == 0,
        "BertConfig: num_attention_heads must divide hidden_size, got ", num_attention_heads, " and ",
        hidden_size);
  check(pad_token_id < vocab_size, "BertConfig: pad_token_id must be below vocab_size, got ", pad_token_id,
        " and ", vocab_size);
  check_probability("hidden_dropout_prob", hidden_dropout_prob);
  check_probability("attention_probs_dropout_prob", attention_probs_dropout_prob);
  check(layer_norm_eps >= 0 && initializer_range > 0, "BertConfig: layer_norm_eps must not be negative and ",
        "initializer_range above 0, got ", layer_norm_eps, " and ", initializer_range);
  check(hidden_act == "gelu" || hidden_act == "gelu_new" || hidden_act == "gelu_pytorch_tanh" ||
            hidden_act == "relu",
        "BertConfig: hidden_act must be gelu, gelu_new, gelu_pytorch_tanh or relu, got ", hidden_act);
}

BertConfig BertConfig::from_file(const std::filesystem::path& path) {
  check_as<IoError>(std::filesystem::exists(path), path.string(), ": there is no such file");
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, false);
  try {
    return parse(json);
  } catch (const Error& error) {
    std::throw_with_nested(IoError(path.string() + ": " + error.what()));
  }
}

void BertConfig::save(const std::filesystem::path& path) const {
  validate();
  Json json{{"model_type", "bert"}, {"architectures", {"BertForSequenceClassification"}}};
  each_option(*this, [&](const char* name, const auto& value) { json[name] = value; });
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  check_as<IoError>(file.good(), path.string(), ": cannot be written");
}

}  // namespace tern::nn::models
