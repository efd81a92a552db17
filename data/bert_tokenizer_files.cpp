#include <tern/data/bert_tokenizer.h>

#include <tern/core/error.h>

#include <fstream>

#include <nlohmann/json.hpp>

namespace tern::data {
namespace {

namespace fs = std::filesystem;

// The option `name` of the file, or nothing where it is not there or null.
std::optional<bool> read_flag(const nlohmann::json& config, const char* name, const fs::path& path) {
  const auto found = config.find(name);
  if (found == config.end() || found->is_null()) return std::nullopt;
  check_as<IoError>(found->is_boolean(), path.string(), ": ", name, " must be true or false, got ",
                    found->dump());
  return found->get<bool>();
}

BertTokenizerOptions read_options(const fs::path& path) {
  std::ifstream file(path);
  const nlohmann::json config = nlohmann::json::parse(file, nullptr, false);
  check_as<IoError>(config.is_object(), path.string(), ": is no JSON object");
  BertTokenizerOptions options;
  options.lowercase = read_flag(config, "do_lower_case", path).value_or(options.lowercase);
  options.strip_accents = read_flag(config, "strip_accents", path);
  options.handle_chinese_chars =
      read_flag(config, "tokenize_chinese_chars", path).value_or(options.handle_chinese_chars);
  return options;
}

}  // namespace

BertTokenizer BertTokenizer::from_pretrained(const fs::path& folder) {
  const fs::path config = folder / "tokenizer_config.json";
  Vocabulary vocabulary(folder / "vocab.txt");
  return BertTokenizer(std::move(vocabulary),
                       fs::exists(config) ? read_options(config) : BertTokenizerOptions());
}

}  // namespace tern::data
