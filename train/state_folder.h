// The folder of a run's saved states: which are there, complete and whole. Internal to train.
//
//   run/step-00000100/rank-0.safetensors     what rank 0 wrote
//   run/step-00000100/manifest.json          written last: with it, the state exists
//
// A folder without its manifest is what an interrupted save left behind.
#pragma once

#include <tern/core/safetensors.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tern::train {

/// One file of a saved state.
struct SavedFile {
  std::string name;  ///< within the step's folder
  int64_t bytes = 0;
  uint32_t crc32 = 0;
};

/// What a manifest says.
struct Manifest {
  int64_t ranks = 1;  ///< of the run that saved
  int64_t saves = 1;  ///< how often this step was saved: names of files differ from save to save
  std::vector<SavedFile> files;
};

class StateFolder {
 public:
  explicit StateFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path step_folder(int64_t step) const;
  /// The steps whose manifest is there, in their order. A folder that is not there has none.
  std::vector<int64_t> complete_steps() const;
  /// Throws IoError naming the file when it is missing or damaged.
  Manifest read_manifest(int64_t step) const;
  /// The tensors of all files; `notes` becomes the metadata of the first. Throws IoError naming the file for
  /// one that is missing, cut off, damaged, or holds a tensor that another holds too.
  TensorMap read_files(int64_t step, const Manifest& manifest,
                       std::map<std::string, std::string>& notes) const;

  /// Makes the step's folder, to last.
  void make(int64_t step) const;
  /// The state exists from here on, in place of one of the same step.
  void commit(int64_t step, const Manifest& manifest) const;
  /// Removes what interrupted saves have left, but of `step` only what its manifest does not name.
  void tidy(int64_t step) const;
  /// Removes the oldest states until `count` are left, never `step`.
  void keep_last(int64_t count, int64_t step) const;

 private:
  TensorMap read_file(int64_t step, const SavedFile& file, std::map<std::string, std::string>& notes) const;
  std::vector<std::pair<int64_t, bool>> all_steps() const;

  std::filesystem::path folder_;
};

}  // namespace tern::train
