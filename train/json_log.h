// A log that programs read: one JSON object a line.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace tern::train {

/// Appends objects to a file; each line is complete once write() returns. Used by one thread.
class JsonLog {
 public:
  using Value = std::variant<int64_t, double, std::string>;

  /// Starts the file anew, or goes on with it if `append`. Throws IoError when it cannot be opened.
  explicit JsonLog(const std::string& path, bool append = false);
  /// Writes one object with the fields in the given order; infinities and NaN become null. Throws IoError
  /// when the line cannot be written.
  void write(std::initializer_list<std::pair<std::string, Value>> fields);

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace tern::train
