#include <tern/train/checkpoint.h>

#include <tern/core/random.h>
#include <tern/kernels/creation.h>

#include <bit>
#include <charconv>

namespace tern::train {
namespace {

const std::string model_prefix = "model.", optimizer_prefix = "optimizer.", generator_name = "generator";

// The devices beside cpu:0 that draw random numbers, by the names of their generators.
std::map<std::string, Device> further_generators() {
  std::map<std::string, Device> devices;
  for (int i = 1; i < cpu_device_count(); ++i) {
    const Device device(DeviceType::cpu, i);
    devices[generator_name + "." + to_string(device)] = device;
  }
  return devices;
}

bool is_generator(const std::string& name) {
  return name == generator_name || name.starts_with(generator_name + ".cpu:");
}

Tensor tensor_of(const RandomState& state) {
  return from_vector<int64_t>({std::bit_cast<int64_t>(state.seed), std::bit_cast<int64_t>(state.offset)});
}

RandomState state_of(const Tensor& tensor) {
  const int64_t* const numbers = tensor.data<int64_t>();
  return {std::bit_cast<uint64_t>(numbers[0]), std::bit_cast<uint64_t>(numbers[1])};
}

void add(TensorMap& all, const std::string& prefix, const TensorMap& part) {
  for (const auto& [name, tensor] : part) all[prefix + name] = tensor;
}

TensorMap part_of(const TensorMap& all, const std::string& prefix) {
  TensorMap part;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = tensor;
  }
  return part;
}

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
  add(all, model_prefix, module.state_dict());
  add(all, optimizer_prefix, optimizer.state_dict());
  const RandomState first = default_generator().state(), unused{first.seed, 0};
  all[generator_name] = tensor_of(first);
  for (const auto& [name, device] : further_generators()) {
    const RandomState state = default_generator(device).state();
    if (state != unused) all[name] = tensor_of(state);
  }
  save_safetensors(path, all, notes);
}

Notes load_checkpoint(const std::string& path, nn::Module& module, optim::Optimizer& optimizer) {
  const Safetensors file = load_safetensors(path);
  check_as<IoError>(file.tensors.contains(generator_name), path,
                    ": not a checkpoint of a training run: it has no state of the generator");
  for (const auto& [name, tensor] : file.tensors) {
    check_as<IoError>(!is_generator(name) || (tensor.dtype() == int64 && tensor.numel() == 2), path, ": ",
                      name, " is no state of a generator");
  }
  const std::string unknown = strangers(file.tensors);
  check(unknown.empty(), path, ": the checkpoint holds tensors that belong to no part of a run:", unknown);
  const TensorMap model = part_of(file.tensors, model_prefix);
  module.check_state_dict(model);
  optimizer.load_state_dict(part_of(file.tensors, optimizer_prefix));
  module.load_state_dict(model);
  const RandomState first = state_of(file.tensors.at(generator_name));
  default_generator().set_state(first);
  for (const auto& [name, device] : further_generators()) {
    const auto saved = file.tensors.find(name);
    default_generator(device).set_state(saved == file.tensors.end() ? RandomState{first.seed, 0}
                                                                    : state_of(saved->second));
  }
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
