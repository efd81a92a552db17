#include <tern/train/json_log.h>

#include <tern/core/error.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tern::train {

JsonLog::JsonLog(const std::string& path, bool append)
    : path_(path), file_(std::fopen(path.c_str(), append ? "a" : "w"), &std::fclose) {
  check_as<IoError>(file_ != nullptr, path, ": cannot be opened for writing: ", std::strerror(errno));
}

void JsonLog::write(std::initializer_list<std::pair<std::string, Value>> fields) {
  nlohmann::ordered_json object;
  for (const auto& [name, value] : fields) {
    std::visit([&, &key = name](const auto& v) { object[key] = v; }, value);
  }
  const std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const bool written =
      std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0;
  check_as<IoError>(written, path_, ": cannot be written: ", std::strerror(errno));
}

}  // namespace tern::train
