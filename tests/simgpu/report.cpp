#include <tern/tests/simgpu/report.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace simgpu {
namespace {

std::atomic<int64_t> reports{0};

}  // namespace

void report(const std::string& text) {
  ++reports;
  std::fprintf(stderr, "simgpu: %s\n", text.c_str());
}

void give_up(const std::string& text) {
  std::fprintf(stderr, "simgpu: %s\n", text.c_str());
  std::fflush(nullptr);
  std::abort();
}

int64_t report_count() { return reports; }

std::string format(const char* pattern, ...) {
  va_list arguments, copy;
  va_start(arguments, pattern);
  va_copy(copy, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, copy);
  va_end(copy);
  std::string text(static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  va_end(arguments);
  return text;
}

}  // namespace simgpu
