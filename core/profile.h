// Scopes whose time a profiler keeps: how operations, layers, optimizers and loaders say what they do.
//
//   { const ProfileScope scope("my part"); … }
//
// While nothing records, which is the usual state, a scope costs one load and one branch. While a
// ProfileRecording is on (train/profiler.h starts one and shows what it found), a scope costs two looks at
// the clock and a write into memory of its own thread. Scopes nest, and may open and close on any number of
// threads; each lives on the stack of the thread that opened it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tern {

/// What a scope is about. Names of `backward` are those of operations, of `optimizer` those of optimizers
/// (profiles append " backward" and ".step"), of `module` mangled names of types.
enum class ProfileKind : uint8_t { user, operation, backward, module, optimizer, data, threads };

namespace detail {
/// The number of the recording that is on; 0 when none is.
extern std::atomic<uint64_t> profile_session;
}  // namespace detail

inline bool is_profiling() { return detail::profile_session.load(std::memory_order_relaxed) != 0; }

/// From its construction to its destruction, an exception's included. What is open when a recording starts,
/// or still open when it ends, is not recorded.
class ProfileScope {
 public:
  /// `name` is not copied: a literal, or what lives as long as the profiler.
  [[nodiscard]] explicit ProfileScope(const char* name, ProfileKind kind = ProfileKind::user) {
    if (is_profiling()) [[unlikely]]
      begin(name, kind);
  }
  /// Copies `name` while recording.
  [[nodiscard]] explicit ProfileScope(const std::string& name) {
    if (is_profiling()) [[unlikely]]
      begin_copied(name);
  }
  ~ProfileScope() {
    if (session_ != 0) [[unlikely]]
      end();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 protected:
  /// Not open yet.
  ProfileScope() = default;
  /// `subject` is the object that the scope is about, or null.
  void begin(const char* name, ProfileKind kind, const void* subject = nullptr);

 private:
  void begin_copied(const std::string& name);
  void end() noexcept;

  uint64_t session_ = 0;  // 0: not recorded, and the rest is not set
  const char* name_;
  const void* subject_;
  int64_t start_, inside_;  // inside_: the time of the scopes that opened and closed in this one
  ProfileScope* outer_;
  int32_t depth_;
  ProfileKind kind_;
};

/// The scope of an operation's forward pass: the first line of its function. (Backward needs none: the walk
/// opens a scope for each recorded operation.)
class OperationScope : public ProfileScope {
 public:
  [[nodiscard]] explicit OperationScope(const char* name) : ProfileScope(name, ProfileKind::operation) {}
};

/// What profiles call the calling thread from now on: "loader worker 0" for ("loader worker", 0). `role` is a
/// literal.
void name_this_thread(const char* role, int number);

}  // namespace tern
