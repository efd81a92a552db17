// Files: reading at a position, and replacing a file as a whole or not at all.
//
// Every call of the system is checked; what fails is an IoError that names the file and the cause. Objects
// belong to one thread, except that FileReader::read_at may be called from several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tern {

/// An open file of the system, closed at the end.
class FileDescriptor {
 public:
  explicit FileDescriptor(int value) : value_(value) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  int get() const { return value_; }
  /// Closes it now. Throws IoError naming `path`: some file systems tell only here that a write has failed.
  void close(const std::string& path);

 private:
  int value_;
};

/// A regular file, open for reading.
class FileReader {
 public:
  /// Throws IoError when it cannot be opened or is no regular file.
  explicit FileReader(const std::string& path);

  const std::string& path() const { return path_; }
  /// In bytes, when it was opened.
  int64_t size() const { return size_; }
  /// Reads `bytes` bytes from `offset` on. Throws IoError when there are fewer.
  void read_at(void* target, size_t bytes, int64_t offset) const;

 private:
  std::string path_;
  FileDescriptor file_;
  int64_t size_;
};

/// A regular file as memory, read from the disk as it is touched. Whoever writes to that memory changes a
/// copy of its own, never the file. A file that is cut off while it is mapped ends the process (SIGBUS) where
/// its end was touched: files are to be replaced, as write_file_atomically() does, not changed.
class FileMapping {
 public:
  /// Throws IoError when it cannot be opened or mapped, or is no regular file.
  explicit FileMapping(const std::string& path);
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  ~FileMapping();

  /// Begins at a page; null for an empty file.
  char* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  int64_t size_;
};

/// Writes one byte after the other, collecting small pieces. What was written is in the file after flush().
class FileWriter {
 public:
  /// Writes to an open descriptor of somebody else; `path` is for error messages.
  FileWriter(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  /// Throws IoError when the system takes less (a full disk, a broken one).
  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void flush();
  /// The CRC-32 (core/checksum.h) of all that has been written.
  uint32_t checksum() const { return checksum_; }

 private:
  void write_through(const char* data, size_t bytes);

  int descriptor_;
  std::string path_;
  std::string pending_;
  uint32_t checksum_ = 0;
};

/// Replaces the file at `path`, or makes it, by what `body` writes: readers find the old file or the new one,
/// never a part, also after a crash of the machine. The new file is written beside the old one, forced to
/// disk and renamed. Whenever something fails, or `body` throws, the old file is untouched and the new one is
/// removed. A symbolic link stays, and the file that it names is replaced. Throws IoError.
void write_file_atomically(const std::string& path, const std::function<void(FileWriter&)>& body);

/// Forces to disk which names the folder holds, so that files just made or renamed in it survive a crash of
/// the machine. Throws IoError.
void sync_folder(const std::string& folder);

}  // namespace tern
