// A file that several processes open, with locks on its bytes. For the file store.
//
// Locks belong to the LockedFile object (the open file), not to the process: two of them in one process
// exclude each other too. The system gives them up when the process ends.
#pragma once

#include <tern/core/file.h>
#include <tern/distributed/socket.h>

#include <cstdint>
#include <string>

namespace tern::distributed {

class LockedFile {
 public:
  /// Opens the file at `path`, or makes an empty one.
  explicit LockedFile(std::string path);

  const std::string& path() const { return path_; }
  /// Whether the file still is what `path` names.
  bool is_current() const;
  int64_t size() const;
  std::string read(int64_t begin, int64_t end) const;
  /// Makes `bytes` what the file has from `at` to its end.
  void write(int64_t at, std::string_view bytes);
  void remove();

  /// Takes the lock of `byte`, for reading together with others or alone. false when others hold it until the
  /// end.
  bool lock(int64_t byte, bool alone, const Deadline& deadline);
  void unlock(int64_t byte);
  /// Whether another LockedFile holds the lock of `byte`.
  bool is_locked_by_others(int64_t byte) const;

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace tern::distributed
