// Where does the time go? As a table, and as a trace for chrome://tracing or Perfetto.
//
//   train::Profiler profiler({.model = &model});  // records from here to stop() or the end of the scope
//   for (…) { … steps … }
//   fmt::print("{}", profiler.table());
//   profiler.export_chrome_trace("trace.json");
//
// It sees, on every thread: operations ("conv2d") and their gradients ("conv2d backward"), layers, steps of
// optimizers, the waiting for batches ("DataLoader next") and their loading, a program's own ProfileScopes
// (core/profile.h), and "parallel_for" on the threads that help with others' operations. What is composed of
// other operations without work of its own shows as those: t() as "transpose". Layers that Sequential runs in
// one pass show as the one that has the weight.
//
// A scope costs about 100 ns while a profiler records, most of it counted as its outer scope's own time;
// without one, next to nothing. The profiler belongs to one thread; the others may run meanwhile, and go on.
#pragma once

#include <tern/core/profile_recording.h>
#include <tern/nn/module.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tern::train {

struct ProfilerOptions {
  int64_t max_events = 1'000'000;  ///< of all threads together, 48 bytes each; what is beyond is counted
  /// Its layers show by their names in it, "features.0 (Conv2d)", others by their types, "Conv2d". Names are
  /// taken at the start and belong to the addresses of that time.
  nn::Module* model = nullptr;
};

/// All scopes of one name. Times are in seconds.
struct ProfileEntry {
  std::string name;
  ProfileKind kind;
  int64_t calls = 0;
  double self = 0;   ///< without the scopes inside
  double total = 0;  ///< with them; scopes inside one of the same name count once
  std::vector<std::string> threads;
};

enum class ProfileOrder { self, total, calls };

struct ProfileTableOptions {
  ProfileOrder sort_by = ProfileOrder::self;  ///< largest first
  int64_t row_limit = 100;
  int64_t max_name_width = 55;  ///< in characters; longer names are cut
};

class Profiler {
 public:
  /// Throws Error while another profiler records, and when max_events is below 1.
  explicit Profiler(const ProfilerOptions& options = {});

  /// Ends the recording; the second time, does nothing. What follows may be called before and after.
  void stop() { recording_.stop(); }

  /// What was recorded so far by name and kind, largest own time first. Scopes that are still open are not
  /// there.
  std::vector<ProfileEntry> key_averages() const;
  /// The same for people: share of the recorded time (100 %: one thread, always), own time, time with the
  /// scopes inside, calls, threads. Kernel threads, which work on others' operations, are summed up below.
  /// Throws Error for negative limits.
  std::string table(const ProfileTableOptions& options = {}) const;
  /// Writes every scope as a "complete event" of the Trace Event Format (JSON; ts and dur in microseconds
  /// since the start, pid and tid those of the system), with the names of the threads. Throws IoError.
  void export_chrome_trace(const std::string& path) const;
  /// Seconds from start to stop, or to now.
  double seconds() const { return static_cast<double>(recording_.duration()) * 1e-9; }
  /// How many scopes found no room within max_events.
  int64_t dropped() const { return recording_.dropped(); }

 private:
  std::string name_of(const ProfileEvent& event) const;

  std::map<const void*, std::string> modules_;  // by address
  ProfileRecording recording_;
};

}  // namespace tern::train
