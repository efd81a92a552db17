#include <tern/kernels/copy.h>
#include <tern/train/generators.h>
#include <tern/train/ranks.h>
#include <tern/train/state.h>
#include <tern/train/state_folder.h>
#include <tern/train/state_names.h>

#include <set>

namespace tern::train {
namespace {

// Throws Error naming what belongs to no part, and parts of which there is nothing.
void check_parts(const TensorMap& all, const std::vector<StatePart>& parts) {
  std::string problems;
  std::set<std::string> known{"rank"};
  for (const StatePart& part : parts) {
    known.insert(part.name);
    const auto first = all.lower_bound(part.name + ".");
    if ((first == all.end() || !first->first.starts_with(part.name + ".")) &&
        !(part.save_own ? part.save_own() : part.save()).empty())
      problems += " nothing of the part \"" + part.name + "\";";
  }
  std::string last;
  for (const auto& [name, tensor] : all) {
    const std::string part = name.substr(0, name.find('.'));
    if (part != last && !known.contains(part)) problems += " a part \"" + part + "\" that is not loaded;";
    last = part;
  }
  check(problems.empty(), "load_state: the state has", problems);
}

// Loads parts one after the other; those that are done go back when a later one fails.
class Loading {
 public:
  explicit Loading(const TensorMap& all) : all_(all) {}

  // The error names the part.
  void load(const StatePart& part) {
    naming(part, [&] {
      before_.emplace_back(&part, copy_of(part.save()));
      part.load(part_of(all_, part.name + "."));
    });
  }
  void check(const StatePart& part) const {
    naming(part, [&] { part.check(part_of(all_, part.name + ".")); });
  }
  void undo() {
    for (const auto& [part, state] : before_) part->load(state);
  }

 private:
  template <class Action>
  static void naming(const StatePart& part, const Action& action) {
    try {
      action();
    } catch (const std::exception&) {
      rethrow_with("load_state: \"" + part.name + "\": ");
    }
  }
  static TensorMap copy_of(TensorMap state) {
    for (auto& [name, x] : state) x = kernels::clone(x.detach());
    return state;
  }

  const TensorMap& all_;
  std::vector<std::pair<const StatePart*, TensorMap>> before_;
};

// What every rank has found in the folder before anything changes.
struct Found {
  Manifest manifest;
  TensorMap tensors, generators;  // generators: this rank's, if it was there
  Notes notes;
};

Found read(const StateFolder& folder, int64_t step, int rank) {
  Found found;
  found.manifest = folder.read_manifest(step);
  found.tensors = folder.read_files(step, found.manifest, found.notes);
  found.generators = part_of(found.tensors, own_prefix(rank));
  if (rank < found.manifest.ranks)
    check_generator_states(folder.step_folder(step).string(), found.generators);
  return found;
}

}  // namespace

std::optional<int64_t> latest_state(const std::string& folder) {
  const std::vector<int64_t> steps = StateFolder(folder).complete_steps();
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

LoadedState load_state(const std::string& path, const std::vector<StatePart>& parts,
                       const LoadStateOptions& options) {
  check_part_names("load_state", parts);
  const Ranks ranks(options.process_group);
  const StateFolder folder(path);
  std::optional<int64_t> step = options.step;
  ranks.together([&] {
    if (!step && ranks.rank() == 0) step = latest_state(path);
    check_as<IoError>(step || ranks.rank() != 0, "load_state: \"", path, "\" holds no complete state");
  });
  step = std::stoll(ranks.text_of_first(std::to_string(step.value_or(-1))));
  Found found;
  ranks.together([&] { found = read(folder, *step, ranks.rank()); });
  Loading loading(found.tensors);
  try {
    ranks.together([&] {
      check_parts(found.tensors, parts);
      for (const StatePart& part : parts) {
        if (part.check) loading.check(part);
      }
      for (const StatePart& part : parts) {
        if (!part.check) loading.load(part);
      }
    });
  } catch (...) {
    loading.undo();
    throw;
  }
  for (const StatePart& part : parts) {
    if (part.check) part.load(part_of(found.tensors, part.name + "."));
  }
  if (!found.generators.empty()) set_generator_states(found.generators);
  return {*step, found.notes};
}

}  // namespace tern::train
