// A training run in one file: what continues it as if it had never stopped.
//
// The file is safetensors: the module's tensors as "model.…", the optimizer's as "optimizer.…", the states of
// the devices' random generators ("generator" is cpu:0's, "generator.cpu:1" and so on are those that differ
// from a freshly seeded one), and the run's own notes (epoch, settings) as metadata. It holds no time, host
// or thread count: equal runs give equal bytes.
#pragma once

#include <tern/nn/module.h>
#include <tern/optim/optimizer.h>

#include <cstdint>
#include <map>
#include <string>

namespace tern::train {

/// What a program notes beside the tensors: the epoch that comes next, the settings that must not change.
using Notes = std::map<std::string, std::string>;

/// Replaces `path` atomically: an interruption leaves the old file or the new one. Throws IoError when it
/// cannot be written.
void save_checkpoint(const std::string& path, const nn::Module& module, const optim::Optimizer& optimizer,
                     const Notes& notes);

/// Puts module, optimizer and generators back, bit for bit, and returns the notes. Generators that the file
/// does not hold are seeded as cpu:0's is; those of devices that this process lacks are passed over. Throws
/// IoError for a damaged or missing file, and Error when the tensors do not fit or some belong to no part of
/// a run; then nothing has changed.
Notes load_checkpoint(const std::string& path, nn::Module& module, optim::Optimizer& optimizer);

/// Throws Error naming each setting that differs between a checkpoint's notes and this run's; `expected` may
/// name fewer.
void check_settings(const std::string& path, const Notes& notes, const Notes& expected);

/// The whole number, zero or more, that a checkpoint's notes hold as `name` (the epoch, say). Throws Error
/// naming the file when it is absent or something else.
int64_t noted_count(const std::string& path, const Notes& notes, const std::string& name);

}  // namespace tern::train
