#include <tern/nn/models/bert.h>

namespace tern::nn::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_file = "config.json";
constexpr const char* weights_file = "model.safetensors";

// The names that parameters have in BertForSequenceClassification, whatever the checkpoint calls them.
std::string canonical(std::string name) {
  const auto replace_end = [&](std::string_view old, std::string_view now) {
    if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
  };
  replace_end("LayerNorm.gamma", "LayerNorm.weight");
  replace_end("LayerNorm.beta", "LayerNorm.bias");
  const bool has_prefix =
      name.starts_with("bert.") || name.starts_with("classifier.") || name.starts_with("cls.");
  return has_prefix ? name : "bert." + name;
}

bool is_passed_over(const std::string& name) {
  return name.starts_with("cls.") || name == "bert.embeddings.position_ids";
}

TensorMap read_weights(const fs::path& path) {
  TensorMap weights;
  for (const auto& [name, tensor] : load_safetensors(path.string()).tensors) {
    const std::string known = canonical(name);
    if (is_passed_over(known)) continue;
    check_as<IoError>(weights.emplace(known, tensor).second, path.string(), ": ", known,
                      " is there under two names");
  }
  return weights;
}

void load(const Module& module, const TensorMap& weights, const fs::path& path) {
  try {
    module.load_state_dict(weights);
  } catch (const Error& error) {
    std::throw_with_nested(IoError(path.string() + ": " + error.what()));
  }
}

}  // namespace

BertModel BertModel::from_pretrained(const fs::path& folder) {
  BertModel model(BertConfig::from_file(folder / config_file));
  TensorMap weights;
  for (const auto& [name, tensor] : read_weights(folder / weights_file)) {
    if (name.starts_with("bert.")) weights[name.substr(5)] = tensor;
  }
  load(model, weights, folder / weights_file);
  return model;
}

BertForSequenceClassification BertForSequenceClassification::from_pretrained(
    const fs::path& folder, std::optional<int64_t> num_labels) {
  BertConfig config = BertConfig::from_file(folder / config_file);
  config.num_labels = num_labels.value_or(config.num_labels);
  BertForSequenceClassification model(config);
  TensorMap weights = read_weights(folder / weights_file);
  if (!weights.contains("classifier.weight") && !weights.contains("classifier.bias")) {
    weights["classifier.weight"] = model.classifier.weight;
    weights["classifier.bias"] = model.classifier.bias;
  }
  load(model, weights, folder / weights_file);
  return model;
}

void BertForSequenceClassification::save_pretrained(const fs::path& folder) const {
  std::error_code error;
  fs::create_directories(folder, error);
  check_as<IoError>(!error, folder.string(), ": cannot be made: ", error.message());
  config().save(folder / config_file);
  save_safetensors((folder / weights_file).string(), state_dict(), {{"format", "pt"}});
}

}  // namespace tern::nn::models
