#include <tern/core/error.h>
#include <tern/train/json_log.h>

#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include <unistd.h>

namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a JSON log writes an object a line, and goes on where a resumed run left it") {
  const std::string path = "/tmp/tern_json_log_" + std::to_string(::getpid()) + ".jsonl";
  tern::train::JsonLog(path).write({{"epoch", int64_t{1}}, {"loss", 0.5}, {"name", std::string("a\"b")}});
  tern::train::JsonLog(path, true).write({{"loss", std::numeric_limits<double>::quiet_NaN()}});
  CHECK(read(path) == "{\"epoch\":1,\"loss\":0.5,\"name\":\"a\\\"b\"}\n{\"loss\":null}\n");
  tern::train::JsonLog fresh(path);
  CHECK(read(path).empty());
  std::remove(path.c_str());
}

TEST_CASE("a JSON log that cannot be opened is an IoError naming the file") {
  CHECK_THROWS_AS(tern::train::JsonLog("/nowhere/at/all.jsonl"), tern::IoError);
}
