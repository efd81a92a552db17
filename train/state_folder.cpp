#include <tern/train/state_folder.h>

#include <tern/core/checksum.h>
#include <tern/core/error.h>
#include <tern/core/file.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace tern::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string step_prefix = "step-", manifest_name = "manifest.json", format_name = "tern state 1";
constexpr int64_t most_manifest = 64 << 20;

// The step that a folder is named after; -1: none.
int64_t step_of(const std::string& name) {
  int64_t step = -1;
  if (!name.starts_with(step_prefix)) return -1;
  const char *const begin = name.data() + step_prefix.size(), *const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(begin, end, step);
  return error == std::errc() && last == end && step >= 0 ? step : -1;
}

std::string json_of(const Manifest& manifest) {
  json files = json::array();
  for (const SavedFile& file : manifest.files)
    files.push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"crc32", fmt::format("{:08x}", file.crc32)}});
  const json all = {
      {"format", format_name}, {"ranks", manifest.ranks}, {"saves", manifest.saves}, {"files", files}};
  return all.dump(2) + "\n";
}

uint32_t checksum_of(const std::string& text) {
  uint32_t value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || last != text.data() + text.size()) throw std::invalid_argument("crc32");
  return value;
}

// Throws something for a text that is no manifest.
Manifest manifest_of(const std::string& text) {
  const json all = json::parse(text);
  if (all.at("format") != format_name) throw std::invalid_argument("format");
  Manifest manifest{all.at("ranks").get<int64_t>(), all.at("saves").get<int64_t>(), {}};
  for (const json& file : all.at("files")) {
    const auto name = file.at("name").get<std::string>();
    if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos)
      throw std::invalid_argument("name");
    manifest.files.push_back(
        {name, file.at("bytes").get<int64_t>(), checksum_of(file.at("crc32").get<std::string>())});
  }
  if (manifest.files.empty() || manifest.ranks < 1 || manifest.saves < 1)
    throw std::invalid_argument("numbers");
  return manifest;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  check_as<IoError>(!error, "cannot remove \"", path.string(), "\": ", error.message());
}

}  // namespace

fs::path StateFolder::step_folder(int64_t step) const {
  return folder_ / fmt::format("{}{:08}", step_prefix, step);
}

// Each step with whether its manifest is there.
std::vector<std::pair<int64_t, bool>> StateFolder::all_steps() const {
  std::vector<std::pair<int64_t, bool>> steps;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const int64_t step = step_of(entry->path().filename().string());
    if (step >= 0 && step_folder(step) == entry->path())
      steps.emplace_back(step, fs::exists(entry->path() / manifest_name));
  }
  check_as<IoError>(!error || error == std::errc::no_such_file_or_directory, "cannot list \"",
                    folder_.string(), "\": ", error.message());
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<int64_t> StateFolder::complete_steps() const {
  std::vector<int64_t> steps;
  for (const auto& [step, complete] : all_steps()) {
    if (complete) steps.push_back(step);
  }
  return steps;
}

Manifest StateFolder::read_manifest(int64_t step) const {
  const std::string path = (step_folder(step) / manifest_name).string();
  const FileReader file(path);
  check_as<IoError>(file.size() <= most_manifest, "cannot read \"", path, "\": it is too large, ",
                    file.size(), " bytes");
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read_at(text.data(), text.size(), 0);
  try {
    return manifest_of(text);
  } catch (const std::exception& error) {
    tern::detail::raise<IoError>(false, "cannot read \"", path,
                                 "\" as a saved state's list of files: ", error.what());
  }
}

TensorMap StateFolder::read_file(int64_t step, const SavedFile& file,
                                 std::map<std::string, std::string>& notes) const {
  const std::string path = (step_folder(step) / file.name).string();
  const FileMapping mapping(path);
  check_as<IoError>(mapping.size() == file.bytes, "\"", path, "\" is damaged: it has ", mapping.size(),
                    " bytes, it was saved with ", file.bytes);
  const uint32_t found = parallel_crc32(mapping.data(), static_cast<size_t>(mapping.size()));
  check_as<IoError>(found == file.crc32, "\"", path, "\" is damaged: its checksum is ",
                    fmt::format("{:08x}", found), ", it was saved with ", fmt::format("{:08x}", file.crc32));
  Safetensors content = load_safetensors(path, {.memory_map = true});
  notes = std::move(content.metadata);
  return std::move(content.tensors);
}

TensorMap StateFolder::read_files(int64_t step, const Manifest& manifest,
                                  std::map<std::string, std::string>& notes) const {
  TensorMap all;
  for (const SavedFile& file : manifest.files) {
    std::map<std::string, std::string> metadata;
    TensorMap tensors = read_file(step, file, metadata);
    if (&file == &manifest.files.front()) notes = std::move(metadata);
    all.merge(tensors);
    check_as<IoError>(tensors.empty(), "\"", (step_folder(step) / file.name).string(), "\" holds ",
                      tensors.empty() ? "" : tensors.begin()->first, ", which another file holds too");
  }
  return all;
}

void StateFolder::make(int64_t step) const {
  std::error_code error;
  fs::create_directories(step_folder(step), error);
  check_as<IoError>(!error, "cannot make \"", step_folder(step).string(), "\": ", error.message());
  sync_folder(folder_.string());
}

void StateFolder::commit(int64_t step, const Manifest& manifest) const {
  const std::string text = json_of(manifest);
  write_file_atomically((step_folder(step) / manifest_name).string(),
                        [&](FileWriter& file) { file.write(text); });
}

void StateFolder::tidy(int64_t step) const {
  for (const auto& [other, complete] : all_steps()) {
    if (!complete) remove_tree(step_folder(other));
    if (!complete || other != step) continue;
    const Manifest manifest = read_manifest(step);
    for (const fs::directory_entry& entry : fs::directory_iterator(step_folder(step))) {
      const std::string name = entry.path().filename().string();
      const bool named = std::any_of(manifest.files.begin(), manifest.files.end(),
                                     [&](const SavedFile& file) { return file.name == name; });
      if (!named && name != manifest_name) remove_tree(entry.path());
    }
  }
}

void StateFolder::keep_last(int64_t count, int64_t step) const {
  std::vector<int64_t> steps = complete_steps();
  std::erase(steps, step);
  const auto surplus = static_cast<int64_t>(steps.size()) - (count - 1);
  for (int64_t i = 0; i < surplus; ++i) {
    const fs::path folder = step_folder(steps[static_cast<size_t>(i)]);
    remove_tree(folder / manifest_name);  // from here on it is none
    remove_tree(folder);
  }
}

}  // namespace tern::train
