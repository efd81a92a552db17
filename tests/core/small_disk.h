// Disks that are full soon.
#pragma once

#include <tern/tests/core/temporary_folder.h>

#include <csignal>

#include <sys/mount.h>
#include <sys/resource.h>

namespace tern::tests {

/// A file system of 256 KiB in a folder, where mounting is permitted.
class SmallDisk {
 public:
  explicit SmallDisk(const TemporaryFolder& folder)
      : path_(folder.path().string()),
        mounted_(::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=256k") == 0) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

/// While it lives, this process cannot make a file larger than `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit small{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace tern::tests
