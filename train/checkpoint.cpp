#include <tern/train/checkpoint.h>

#include <tern/train/generators.h>
#include <tern/train/state_names.h>

#include <charconv>

namespace tern::train {
namespace {

const std::string model_prefix = "model.", optimizer_prefix = "optimizer.";

// Tensors that belong to no part of a run.
std::string strangers(const TensorMap& all) {
  std::string names;
  for (const auto& [name, tensor] : all) {
    const bool known =
        name.starts_with(model_prefix) || name.starts_with(optimizer_prefix) || is_generator(name);
    if (!known) names.append(" ").append(name);
  }
  return names;
}

}  // namespace

void save_checkpoint(const std::string& path, const nn::Module& module, const optim::Optimizer& optimizer,
                     const Notes& notes) {
  TensorMap all;
  add_to(all, model_prefix, module.state_dict());
  add_to(all, optimizer_prefix, optimizer.state_dict());
  all.merge(generator_states());
  save_safetensors(path, all, notes);
}

Notes load_checkpoint(const std::string& path, nn::Module& module, optim::Optimizer& optimizer) {
  const Safetensors file = load_safetensors(path);
  check_generator_states(path, file.tensors);
  const std::string unknown = strangers(file.tensors);
  check(unknown.empty(), path, ": the checkpoint holds tensors that belong to no part of a run:", unknown);
  const TensorMap model = part_of(file.tensors, model_prefix);
  module.check_state_dict(model);
  optimizer.load_state_dict(part_of(file.tensors, optimizer_prefix));
  module.load_state_dict(model);
  set_generator_states(file.tensors);
  return file.metadata;
}

void check_settings(const std::string& path, const Notes& notes, const Notes& expected) {
  std::string problems;
  for (const auto& [name, value] : expected) {
    const auto found = notes.find(name);
    const std::string saved = found == notes.end() ? "absent" : found->second;
    if (saved == value) continue;
    problems.append("; ").append(name).append(" was ").append(saved).append(", is now ").append(value);
  }
  check(problems.empty(), path, ": the run was started with other settings", problems);
}

int64_t noted_count(const std::string& path, const Notes& notes, const std::string& name) {
  const auto found = notes.find(name);
  const std::string text = found == notes.end() ? "" : found->second;
  int64_t count = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  check(error == std::errc() && end == text.data() + text.size() && count >= 0, path, ": its note \"", name,
        "\" must be a whole number, got ", text.empty() ? "nothing" : text);
  return count;
}

}  // namespace tern::train
