// A whole run in a folder: save_state() and load_state(), after which it goes on bit for bit as if it had
// never stopped.
//
//   const std::vector<train::StatePart> parts = {
//       {"model", net}, {"optimizer", optimizer}, {"loader", loader}};
//   int64_t step = 0;
//   if (train::latest_state("run")) step = train::load_state("run", parts).step;
//   while (step < steps) {
//     …
//     if (++step % 1000 == 0) train::save_state("run", step, parts, {.keep_last = 3});
//   }
//
// A state is a folder of safetensors files, "model.weight" and so on, with a list of them and their checksums
// (CRC-32) that is written last: an interruption at any time, of the machine too, leaves the states that were
// complete. The states of all devices' random generators, on each rank, are saved with the parts. Equal runs
// give equal bytes. One run at a time uses a folder, which all ranks must see.
//
// In a job of several ranks all of them call these functions together, and an error of one is an error on
// all. Parts are saved as rank 0 has them, except that a ZeroRedundancyOptimizer's is put together of all
// ranks'.
#pragma once

#include <tern/distributed/collectives.h>
#include <tern/train/checkpoint.h>
#include <tern/train/state_part.h>

#include <memory>
#include <optional>

namespace tern::train {

struct SaveStateOptions {
  int64_t keep_last = 0;  ///< how many states stay, the new one among them; 0: all
  /// Each rank writes what it alone has (its part of a ZeroRedundancyOptimizer's state), none holds it all.
  bool sharded = false;
  Notes notes = {};                            ///< what the program wants back beside the parts
  distributed::Group process_group = nullptr;  ///< null: the default group, or this process alone
};

/// Saves the parts as the state of `step`, in place of one that there may be, and then removes old ones.
/// Returns when it is safely on the disk. Throws IoError, the same on all ranks, when it cannot be written (a
/// full disk): then the states that were there are still there, and nothing of the new one is; Error for a
/// negative step or keep_last and for parts of one name.
void save_state(const std::string& folder, int64_t step, const std::vector<StatePart>& parts,
                const SaveStateOptions& options = {});

/// A state that is being written. Ends with its writing: without wait(), an error goes to standard error.
class PendingSave {
 public:
  PendingSave();
  PendingSave(PendingSave&&) noexcept;
  PendingSave& operator=(PendingSave&&) noexcept;
  ~PendingSave();

  /// Returns when the state is safely on the disk, at once when that was so before, or when nothing was to be
  /// saved. All ranks call it together; a sharded state is complete only by it. Throws as save_state() does.
  void wait();

  class Save;

 private:
  friend PendingSave save_state_async(const std::string&, int64_t, const std::vector<StatePart>&,
                                      const SaveStateOptions&);
  explicit PendingSave(std::unique_ptr<Save> save);
  std::unique_ptr<Save> save_;
};

/// Copies the parts and returns; a thread writes the copy while training goes on. Throws Error while another
/// save into this folder is under way: wait() for it first.
[[nodiscard]] PendingSave save_state_async(const std::string& folder, int64_t step,
                                           const std::vector<StatePart>& parts,
                                           const SaveStateOptions& options = {});

/// The last step that a complete state is there for, if any. Throws IoError when the folder cannot be read.
std::optional<int64_t> latest_state(const std::string& folder);

struct LoadStateOptions {
  std::optional<int64_t> step = {};            ///< of which state; else the latest
  distributed::Group process_group = nullptr;  ///< null: the default group, or this process alone
};

struct LoadedState {
  int64_t step = 0;
  Notes notes;
};

/// Puts the parts and the random generators back, bit for bit. The job may have another number of ranks than
/// the one that saved: each rank takes the generators of its own number, ranks beyond those keep what they
/// have; a DataLoader must then have stood between epochs (Error). Throws IoError naming the file for what is
/// missing or damaged, and Error when the state does not fit a part or holds more or fewer parts; then
/// nothing has changed, on any rank.
LoadedState load_state(const std::string& folder, const std::vector<StatePart>& parts,
                       const LoadStateOptions& options = {});

}  // namespace tern::train
