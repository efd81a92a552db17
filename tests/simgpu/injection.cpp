#include <tern/tests/simgpu/injection.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

namespace simgpu {
namespace {

struct Plan {
  std::mutex mutex;
  std::map<std::string, std::set<int64_t>, std::less<>> failing;
  std::map<std::string, int64_t, std::less<>> calls;
};

Plan& plan() {
  static Plan& result = *new Plan;  // outlives whatever runs at exit
  static const bool was_read = [] {
    const char* text = std::getenv("SIMGPU_FAIL");
    std::istringstream entries(text == nullptr ? "" : text);
    for (std::string entry; std::getline(entries, entry, ',');) {
      const size_t colon = entry.find(':');
      const int64_t call = colon == std::string::npos ? 0 : std::atoll(entry.c_str() + colon + 1);
      if (call < 1) {
        std::fprintf(stderr, "simgpu: SIMGPU_FAIL has '%s', needed is call:number\n", entry.c_str());
        std::exit(2);
      }
      result.failing[entry.substr(0, colon)].insert(call);
    }
    return true;
  }();
  static_cast<void>(was_read);
  return result;
}

}  // namespace

bool injected(const char* kind) {
  Plan& all = plan();
  if (all.failing.empty()) return false;
  const std::lock_guard lock(all.mutex);
  const auto found = all.failing.find(std::string_view(kind));
  return found != all.failing.end() && found->second.contains(++all.calls[kind]);
}

}  // namespace simgpu
