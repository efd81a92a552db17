#include <tern/train/state.h>

#include <tern/core/file.h>
#include <tern/kernels/copy.h>
#include <tern/train/generators.h>
#include <tern/train/ranks.h>
#include <tern/train/state_folder.h>
#include <tern/train/state_names.h>

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

namespace tern::train {
namespace {

namespace fs = std::filesystem;

// The saves that are under way in this process, by folder and rank.
class Underway {
 public:
  Underway(const std::string& folder, int rank) : key_(fs::weakly_canonical(folder).string(), rank) {
    const std::lock_guard lock(mutex());
    check(keys().insert(key_).second, "save_state: another save into \"", folder,
          "\" is under way: wait() for it first");
  }
  Underway(const Underway&) = delete;
  Underway& operator=(const Underway&) = delete;
  ~Underway() {
    const std::lock_guard lock(mutex());
    keys().erase(key_);
  }

 private:
  using Key = std::pair<std::string, int>;
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::set<Key>& keys() {
    static std::set<Key> instance;
    return instance;
  }

  Key key_;
};

void check_arguments(int64_t step, const std::vector<StatePart>& parts, const SaveStateOptions& options) {
  check(step >= 0, "save_state: the step must not be negative, got ", step);
  check(options.keep_last >= 0, "save_state: keep_last must not be negative, got ", options.keep_last);
  check_part_names("save_state", parts);
}

// A tensor whose values stay as they are and lie on the CPU.
Tensor kept(const Tensor& x, bool copy) {
  check(x.defined(), "save_state: a tensor is undefined");
  if (!x.device().is_cpu()) return kernels::to(x.detach(), Device());
  return copy ? kernels::clone(x.detach()) : x;
}

}  // namespace

class PendingSave::Save {
 public:
  Save(const std::string& folder, int64_t step, const SaveStateOptions& options)
      : folder_(folder),
        step_(step),
        options_(options),
        ranks_(options.process_group),
        underway_(folder, ranks_.rank()) {}
  ~Save() {
    if (thread_.joinable()) thread_.join();
    if (failure_) report();
  }
  Save(const Save&) = delete;
  Save& operator=(const Save&) = delete;

  // What is to be written; its tensors are those of the parts, or copies. All ranks together.
  void collect(const std::vector<StatePart>& parts, bool copy) {
    ranks_.together([&] {
      if (is_first()) prepare();
    });
    saves_ = std::stoll(ranks_.text_of_first(std::to_string(saves_)));
    if (!options_.sharded) gather(parts);
    const std::vector<std::string> generators = ranks_.all_texts(text_of(generator_states()));
    ranks_.together([&] {
      for (const StatePart& part : parts) collect_part(part, copy);
      for (int rank = 0; rank < ranks_.size(); ++rank) {
        if (options_.sharded ? rank == ranks_.rank() : is_first())
          add_to(tensors_, own_prefix(rank), states_of(generators[static_cast<size_t>(rank)]));
      }
    });
  }

  // Touches nothing but the disk. What fails is kept for finish().
  void write() {
    try {
      if (is_first() || options_.sharded) write_file();
      if (is_first() && commits_alone()) commit({file_});
    } catch (...) {
      failure_ = std::current_exception();
    }
    tensors_.clear();
  }

  void write_on_a_thread() {
    thread_ = std::thread([this] { write(); });
  }

  // All ranks together: the state is complete, or an error on all.
  void finish() {
    if (thread_.joinable()) thread_.join();
    try {
      ranks_.together([&] {
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
      });
      if (commits_alone()) return;
      const std::vector<std::string> files = ranks_.all_texts(line_of(file_));
      ranks_.together([&] {
        if (is_first()) commit(files_of(files));
      });
    } catch (const DistributedError&) {
      throw;
    } catch (...) {
      if (is_first()) tidy_quietly();
      throw;
    }
  }

 private:
  bool is_first() const { return ranks_.rank() == 0; }
  bool commits_alone() const { return !options_.sharded || ranks_.size() == 1; }

  void prepare() {
    folder_.tidy(step_);
    for (const int64_t other : folder_.complete_steps()) {
      if (other == step_) saves_ = folder_.read_manifest(step_).saves + 1;
    }
    folder_.make(step_);
  }

  void gather(const std::vector<StatePart>& parts) const {
    for (const StatePart& part : parts) {
      if (part.gather) part.gather(ranks_.root());
    }
  }

  // Of a part that ranks share out, a sharded state has each rank's own; of any other, rank 0's.
  void collect_part(const StatePart& part, bool copy) {
    const bool own = options_.sharded && part.save_own;
    if (!own && !is_first()) return;
    for (const auto& [name, x] : own ? part.save_own() : part.save())
      tensors_[part.name + "." + name] = kept(x, copy);
  }

  void write_file() {
    file_.name = fmt::format("rank-{}{}.safetensors", ranks_.rank(),
                             saves_ == 1 ? std::string() : fmt::format(".{}", saves_));
    const std::string path = (folder_.step_folder(step_) / file_.name).string();
    file_.crc32 = save_safetensors(path, tensors_, is_first() ? options_.notes : Notes());
    file_.bytes = FileReader(path).size();
  }

  void commit(const std::vector<SavedFile>& files) const {
    folder_.commit(step_, {ranks_.size(), saves_, files});
    folder_.tidy(step_);
    if (options_.keep_last > 0) folder_.keep_last(options_.keep_last, step_);
  }

  void tidy_quietly() const {
    try {
      folder_.tidy(step_);
    } catch (const Error&) {
      // The failure that led here is the one to tell.
    }
  }

  void report() const {
    try {
      std::rethrow_exception(failure_);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "save_state_async: step %lld was not saved: %s\n", static_cast<long long>(step_),
                   error.what());
    }
  }

  static std::string line_of(const SavedFile& file) {
    return fmt::format("{} {} {}", file.name, file.bytes, file.crc32);
  }
  static std::vector<SavedFile> files_of(const std::vector<std::string>& texts) {
    std::vector<SavedFile> files;
    for (const std::string& text : texts) {
      std::istringstream in(text);
      SavedFile& file = files.emplace_back();
      in >> file.name >> file.bytes >> file.crc32;
    }
    return files;
  }

  StateFolder folder_;
  int64_t step_, saves_ = 1;
  SaveStateOptions options_;
  Ranks ranks_;
  Underway underway_;
  TensorMap tensors_;
  SavedFile file_;  // what this rank has written
  std::exception_ptr failure_;
  std::thread thread_;
};

PendingSave::PendingSave() = default;
PendingSave::PendingSave(std::unique_ptr<Save> save) : save_(std::move(save)) {}
PendingSave::PendingSave(PendingSave&&) noexcept = default;
PendingSave& PendingSave::operator=(PendingSave&&) noexcept = default;
PendingSave::~PendingSave() = default;

void PendingSave::wait() {
  if (!save_) return;
  const std::unique_ptr<Save> save = std::move(save_);
  save->finish();
}

void save_state(const std::string& folder, int64_t step, const std::vector<StatePart>& parts,
                const SaveStateOptions& options) {
  check_arguments(step, parts, options);
  PendingSave::Save save(folder, step, options);
  save.collect(parts, false);
  save.write();
  save.finish();
}

PendingSave save_state_async(const std::string& folder, int64_t step, const std::vector<StatePart>& parts,
                             const SaveStateOptions& options) {
  check_arguments(step, parts, options);
  auto save = std::make_unique<PendingSave::Save>(folder, step, options);
  save->collect(parts, true);
  save->write_on_a_thread();
  return PendingSave(std::move(save));
}

}  // namespace tern::train
