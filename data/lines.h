// Lines of a text file, plain or compressed with gzip. For readers of data sets; one thread.
#pragma once

#include <tern/data/input_file.h>

#include <string>
#include <vector>

namespace tern::data {

class LineReader {
 public:
  /// Throws IoError as InputFile does. A byte-order mark at the start of the file is passed over.
  explicit LineReader(const std::filesystem::path& path);

  /// The next line, without its end ("\n" or "\r\n"); false behind the last. A file that ends with a line's
  /// end has no empty line after it. Throws IoError when the file is damaged.
  bool next(std::string& line);
  /// The same, but of "\r\n" only "\n" is taken away.
  bool next_raw(std::string& line);
  /// The number of the line that next() gave, from 1; 0 before the first.
  int64_t number() const { return number_; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  bool fill();

  InputFile file_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  int64_t number_ = 0;
};

}  // namespace tern::data
