#include <tern/train/program.h>

#include <tern/core/error.h>

#include <fmt/format.h>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace tern::train {
namespace {

void check_output(bool written) {
  check_as<IoError>(written, "standard output cannot be written: ", std::strerror(errno));
}

// The whole of `text` as a T.
template <class T>
bool parse(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

int run_program(const std::function<int()>& body) {
  try {
    const int status = body();
    std::cout.flush();
    check_output(std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !std::cout.bad());
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

void print_line(const std::string& line) {
  const std::string text = line + "\n";
  check_output(std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0);
}

OptionCheck whole_number(uint64_t least, uint64_t most) {
  return [=](const std::string& text) {
    uint64_t value = 0;
    if (parse(text, value) && value >= least && value <= most) return std::string();
    return fmt::format("needs a whole number from {} to {}, got {}", least, most, text);
  };
}

OptionCheck number(double least) {
  return [=](const std::string& text) {
    double value = 0;
    if (parse(text, value) && std::isfinite(value) && value >= least) return std::string();
    return fmt::format("needs a number of at least {}, got {}", least, text);
  };
}

}  // namespace tern::train
