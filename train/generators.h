// The random generators of all devices as named tensors. Internal to train.
#pragma once

#include <tern/core/safetensors.h>

#include <string>

namespace tern::train {

/// "generator" is cpu:0's state; "generator.cpu:1" and so on are those that differ from one freshly seeded
/// with cpu:0's seed.
TensorMap generator_states();

/// Whether `name` is one of these names, on this machine or on one with other devices.
bool is_generator(const std::string& name);

/// Throws IoError beginning with `where` unless "generator" is there and all generators' states are states.
void check_generator_states(const std::string& where, const TensorMap& states);

/// Puts all generators back. Those without a state are seeded as cpu:0's is; those of devices that this
/// process lacks are passed over.
void set_generator_states(const TensorMap& states);

}  // namespace tern::train
