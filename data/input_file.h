// A file that is read from front to back, plain or compressed with gzip. For readers of data sets; one
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace tern::data {

class InputFile {
 public:
  /// Throws IoError when there is no such file, it may not be read, or it is no regular file.
  explicit InputFile(const std::filesystem::path& path);

  /// Reads up to `bytes` bytes; fewer only at the end. Throws IoError when the file is damaged.
  int64_t read(void* target, int64_t bytes);
  const std::filesystem::path& path() const { return path_; }
  /// Of the file as it lies there, compressed or not.
  int64_t bytes_on_disk() const { return bytes_; }

 private:
  struct Close {
    void operator()(void* file) const;
  };

  std::filesystem::path path_;
  int64_t bytes_ = 0;
  std::unique_ptr<void, Close> file_;
};

}  // namespace tern::data
