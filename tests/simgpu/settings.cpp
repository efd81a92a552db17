#include <tern/tests/simgpu/settings.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace simgpu {
namespace {

uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*end == '\0') return value;
  std::fprintf(stderr, "simgpu: %s is '%s', not a number\n", name, text);
  std::exit(2);
}

/// CUDA shows the devices up to the first entry that names none.
std::vector<int> visible(int devices) {
  std::vector<int> result;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) {
    for (int device = 0; device < devices; ++device) result.push_back(device);
    return result;
  }
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    const long device = std::strtol(at, &end, 10);
    if (end == at || device < 0 || device >= devices) break;
    result.push_back(static_cast<int>(device));
    if (*end != ',') break;
    at = end + 1;
  }
  return result;
}

Settings read() {
  Settings settings;
  settings.devices = visible(static_cast<int>(number("SIMGPU_DEVICES", 1)));
  settings.memory = number("SIMGPU_MEMORY", settings.memory);
  settings.capability = static_cast<int>(number("SIMGPU_CAPABILITY", 80));
  settings.seed = number("SIMGPU_SEED", 0);
  settings.leaks = number("SIMGPU_LEAKS", 1) != 0;
  settings.races = number("SIMGPU_RACES", 1) != 0;
  settings.statistics = number("SIMGPU_STATISTICS", 0) != 0;
  const int capability = settings.capability;
  if (capability != 80 && capability != 90 && capability != 100) {
    std::fprintf(stderr, "simgpu: SIMGPU_CAPABILITY is %d; 80, 90 and 100 are simulated\n", capability);
    std::exit(2);
  }
  return settings;
}

}  // namespace

const Settings& settings() {
  static const Settings result = read();
  return result;
}

}  // namespace simgpu
