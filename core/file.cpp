#include <tern/core/checksum.h>
#include <tern/core/error.h>
#include <tern/core/file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tern {
namespace {

constexpr size_t pending_bytes = 1 << 16;

[[noreturn]] void fail(const char* what, const std::string& path, int error,
                       const Condition& place = Condition(false)) {
  detail::raise<IoError>(place, what, " \"", path, "\": ", std::generic_category().message(error));
}

// Repeats a call that a signal interrupted.
template <class Call>
auto retry(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

int open_for_reading(const std::string& path) {
  const int descriptor = retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) fail("cannot open", path, errno);
  return descriptor;
}

int64_t size_of_regular_file(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) < 0) fail("cannot examine", path, errno);
  check_as<IoError>(S_ISREG(status.st_mode), "cannot read \"", path, "\": it is not a regular file");
  return status.st_size;
}

// Where the new file really goes: the target of a link. Nothing but a regular file is replaced.
std::string resolve(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  check_as<IoError>(
      kind == std::filesystem::file_type::not_found || kind == std::filesystem::file_type::regular || error,
      "cannot write \"", path, "\": something that is not a regular file is there");
  std::filesystem::path target = path;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    if (links == 40) fail("cannot write", path, ELOOP);
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
    if (error) fail("cannot write", path, error.value());
  }
  return target.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Makes new names in a folder survive a crash. Some file systems cannot, and say so by EINVAL.
void sync(const FileDescriptor& folder, const std::string& path) {
  if (retry([&] { return ::fsync(folder.get()); }) < 0 && errno != EINVAL)
    fail("cannot force to disk the folder", path, errno);
}

// A new, empty file in the folder of `path`, removed at the end unless it was renamed to `path`.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path), file_(create()) {}
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  int descriptor() const { return file_.get(); }

  void move_into_place() {
    if (retry([&] { return ::fsync(file_.get()); }) < 0) fail("cannot write", path_, errno);
    file_.close(path_);
    const FileDescriptor folder(open_for_reading(folder_of(path_)));
    if (::rename(name_.c_str(), path_.c_str()) < 0) fail("cannot write", path_, errno);
    name_.clear();
    sync(folder, folder_of(path_));
  }

 private:
  // The name may be taken by what a killed process left behind.
  int create() {
    static std::atomic<uint64_t> counter = 0;
    for (;;) {
      name_ = folder_of(path_) + "/.tern-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) +
              ".tmp";
      const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
      const int descriptor = retry([&] { return ::open(name_.c_str(), flags, 0666); });
      if (descriptor >= 0) return descriptor;
      if (errno != EEXIST) fail("cannot write", path_, errno);
    }
  }

  std::string path_, name_;
  FileDescriptor file_;
};

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (value_ >= 0) ::close(value_);
}

void FileDescriptor::close(const std::string& path) {
  // After EINTR Linux has closed it all the same.
  if (::close(std::exchange(value_, -1)) < 0 && errno != EINTR) fail("cannot close", path, errno);
}

FileReader::FileReader(const std::string& path)
    : path_(path), file_(open_for_reading(path)), size_(size_of_regular_file(file_.get(), path)) {}

void FileReader::read_at(void* target, size_t bytes, int64_t offset) const {
  auto* const start = static_cast<char*>(target);
  for (size_t done = 0; done < bytes;) {
    const auto position = offset + static_cast<int64_t>(done);
    const ssize_t count = retry([&] { return ::pread(file_.get(), start + done, bytes - done, position); });
    if (count < 0) fail("cannot read", path_, errno);
    check_as<IoError>(count > 0, "cannot read \"", path_, "\": expected ", bytes, " bytes from ", offset,
                      " on, but the file ends after ", done);
    done += static_cast<size_t>(count);
  }
}

FileMapping::FileMapping(const std::string& path) {
  const FileDescriptor file(open_for_reading(path));
  size_ = size_of_regular_file(file.get(), path);
  if (size_ == 0) return;
  void* const start = ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (start == MAP_FAILED) fail("cannot map", path, errno);
  data_ = static_cast<char*>(start);
}

FileMapping::~FileMapping() {
  if (data_) ::munmap(data_, static_cast<size_t>(size_));
}

void FileWriter::write(const void* data, size_t bytes) {
  const char* const start = static_cast<const char*>(data);
  checksum_ = crc32(data, bytes, checksum_);
  if (pending_.size() + bytes > pending_bytes) flush();
  if (bytes >= pending_bytes)
    write_through(start, bytes);
  else
    pending_.append(start, bytes);
}

void FileWriter::flush() {
  write_through(pending_.data(), pending_.size());
  pending_.clear();
}

void FileWriter::write_through(const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = retry([&] { return ::write(descriptor_, data, bytes); });
    if (count < 0) fail("cannot write", path_, errno);
    data += count;
    bytes -= static_cast<size_t>(count);
  }
}

void sync_folder(const std::string& folder) { sync(FileDescriptor(open_for_reading(folder)), folder); }

void write_file_atomically(const std::string& path, const std::function<void(FileWriter&)>& body) {
  TemporaryFile file(resolve(path));
  FileWriter writer(file.descriptor(), path);
  body(writer);
  writer.flush();
  file.move_into_place();
}

}  // namespace tern
