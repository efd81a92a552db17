#include <tern/core/device.h>

#include <tern/core/build_info.h>
#include <tern/core/error.h>

#include <charconv>
#include <cstdlib>
#include <ostream>

namespace tern {
namespace {

// The whole of `text` as a number, or -1.
int parse_index(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

int read_cpu_device_count() {
  const char* text = std::getenv("TERN_CPU_DEVICES");
  if (!text || !*text) return 1;
  const int count = parse_index(text);
  check(count >= 1 && count <= 64, "TERN_CPU_DEVICES must be a number from 1 to 64, got \"", text, "\"");
  return count;
}

}  // namespace

Device::Device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  index = colon == std::string_view::npos ? 0 : parse_index(text.substr(colon + 1));
  check((kind == "cpu" || kind == "cuda") && index >= 0, "device must be cpu, cpu:N, cuda or cuda:N, got \"",
        text, "\"");
  type = kind == "cpu" ? DeviceType::cpu : DeviceType::cuda;
  check_device(*this);
}

std::string to_string(Device device) {
  return (device.is_cpu() ? "cpu:" : "cuda:") + std::to_string(device.index);
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << to_string(device); }

int cpu_device_count() {
  static const int count = read_cpu_device_count();
  return count;
}

void check_device(Device device) {
  if (device.is_cpu()) {
    check(device.index >= 0 && device.index < cpu_device_count(), "device ", device,
          " does not exist: the number of CPU devices is ", cpu_device_count(),
          " (TERN_CPU_DEVICES sets it)");
  } else {
    check(built_with_cuda, "device ", device, " does not exist: this build has no CUDA");
  }
}

}  // namespace tern
