// How tensors are named in the files of a saved state: "PART.name", and "rank.R.name" for what rank R has of
// its own, its generators. Internal to train.
#pragma once

#include <tern/train/state_part.h>

#include <string>
#include <vector>

namespace tern::train {

/// What the names of rank `rank`'s own begin with.
inline std::string own_prefix(int rank) { return "rank." + std::to_string(rank) + "."; }

/// Throws Error beginning with `operation` when two parts have one name.
void check_part_names(const char* operation, const std::vector<StatePart>& parts);

/// Adds the tensors of `part`, their names behind `prefix`.
void add_to(TensorMap& all, const std::string& prefix, const TensorMap& part);

/// The tensors whose names begin with `prefix`, without it.
TensorMap part_of(const TensorMap& all, const std::string& prefix);

/// Tensors of two whole numbers (generators' states) as text, and back.
std::string text_of(const TensorMap& states);
TensorMap states_of(const std::string& text);

}  // namespace tern::train
