#include <tern/train/generators.h>

#include <tern/core/error.h>
#include <tern/core/random.h>
#include <tern/kernels/creation.h>

#include <bit>

namespace tern::train {
namespace {

const std::string generator_name = "generator";

// The devices beside cpu:0 that draw random numbers, by the names of their generators.
std::map<std::string, Device> further_generators() {
  std::map<std::string, Device> devices;
  for (int i = 1; i < cpu_device_count(); ++i) {
    const Device device(DeviceType::cpu, i);
    devices[generator_name + "." + to_string(device)] = device;
  }
  return devices;
}

Tensor tensor_of(const RandomState& state) {
  return from_vector<int64_t>({std::bit_cast<int64_t>(state.seed), std::bit_cast<int64_t>(state.offset)});
}

RandomState state_of(const Tensor& tensor) {
  const int64_t* const numbers = tensor.data<int64_t>();
  return {std::bit_cast<uint64_t>(numbers[0]), std::bit_cast<uint64_t>(numbers[1])};
}

}  // namespace

TensorMap generator_states() {
  const RandomState first = default_generator().state(), unused{first.seed, 0};
  TensorMap states{{generator_name, tensor_of(first)}};
  for (const auto& [name, device] : further_generators()) {
    const RandomState state = default_generator(device).state();
    if (state != unused) states[name] = tensor_of(state);
  }
  return states;
}

bool is_generator(const std::string& name) {
  return name == generator_name || name.starts_with(generator_name + ".cpu:");
}

void check_generator_states(const std::string& where, const TensorMap& states) {
  check_as<IoError>(states.contains(generator_name), where,
                    ": not a checkpoint of a training run: it has no state of the generator");
  for (const auto& [name, tensor] : states) {
    check_as<IoError>(!is_generator(name) || (tensor.dtype() == int64 && tensor.numel() == 2), where, ": ",
                      name, " is no state of a generator");
  }
}

void set_generator_states(const TensorMap& states) {
  const RandomState first = state_of(states.at(generator_name));
  default_generator().set_state(first);
  for (const auto& [name, device] : further_generators()) {
    const auto saved = states.find(name);
    default_generator(device).set_state(saved == states.end() ? RandomState{first.seed, 0}
                                                              : state_of(saved->second));
  }
}

}  // namespace tern::train
