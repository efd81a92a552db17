#include <tern/core/error.h>
#include <tern/distributed/locked_file.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tern::distributed {
namespace {

[[noreturn]] void fail(const char* what, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  detail::raise<DistributedError>(Condition(false), "file store \"", path, "\": ", what, ": ", reason);
}

int open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("cannot be opened", path);
  struct stat status {};
  const bool is_file = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file) ::close(descriptor);
  check_as<DistributedError>(is_file, "file store \"", path, "\": is not a regular file");
  return descriptor;
}

struct flock lock_of(int64_t byte, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

LockedFile::LockedFile(std::string path) : path_(std::move(path)), file_(open_file(path_)) {}

bool LockedFile::is_current() const {
  struct stat here {
  }, there{};
  if (::fstat(file_.get(), &here) != 0) fail("cannot be examined", path_);
  return ::stat(path_.c_str(), &there) == 0 && here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

int64_t LockedFile::size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail("cannot be examined", path_);
  return status.st_size;
}

std::string LockedFile::read(int64_t begin, int64_t end) const {
  std::string bytes(static_cast<size_t>(std::max<int64_t>(0, end - begin)), '\0');
  for (size_t got = 0; got < bytes.size();) {
    const ssize_t more =
        ::pread(file_.get(), bytes.data() + got, bytes.size() - got, begin + static_cast<int64_t>(got));
    if (more < 0 && errno != EINTR) fail("cannot be read", path_);
    if (more == 0) bytes.resize(got);
    if (more > 0) got += static_cast<size_t>(more);
  }
  return bytes;
}

void LockedFile::write(int64_t at, std::string_view bytes) {
  if (::ftruncate(file_.get(), at) != 0) fail("cannot be written", path_);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), at);
    if (written < 0 && errno != EINTR) fail("cannot be written", path_);
    if (written <= 0) continue;
    at += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void LockedFile::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) fail("cannot be removed", path_);
}

// Tries again and again: the system's own wait has no end, and whoever holds the lock may be stopped.
bool LockedFile::lock(int64_t byte, bool alone, const Deadline& deadline) {
  for (Duration pause(1);; pause = std::min<Duration>(2 * pause, std::chrono::milliseconds(16))) {
    struct flock lock = lock_of(byte, alone ? F_WRLCK : F_RDLCK);
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) fail("its file system can't lock it", path_);
    if (deadline.is_over()) return false;
    std::this_thread::sleep_for(pause);
  }
}

void LockedFile::unlock(int64_t byte) {
  struct flock lock = lock_of(byte, F_UNLCK);
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) fail("cannot be unlocked", path_);
}

bool LockedFile::is_locked_by_others(int64_t byte) const {
  struct flock lock = lock_of(byte, F_WRLCK);
  if (::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0) fail("its file system can't lock it", path_);
  return lock.l_type != F_UNLCK;
}

}  // namespace tern::distributed
