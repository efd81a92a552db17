#include <tern/tests/simgpu/device_text.h>
#include <tern/tests/simgpu/places.h>
#include <tern/tests/simgpu/report.h>

#include <cstdio>
#include <cstring>

namespace simgpu {
namespace {

template <class T>
T local_value(Warp& warp, const Operation& operation, uint32_t offset, uint32_t lane) {
  T value;
  std::memcpy(&value, place<Space::local>(warp, operation, offset, sizeof(T), Touch::read, lane),
              sizeof value);
  return value;
}

/// The text at a generic address, byte by byte within its allocation.
std::string text_at(Warp& warp, const Operation& operation, uint64_t address, uint32_t lane) {
  std::string text;
  for (;; ++address) {
    const CachedRange range = find_range(warp, operation, address, 1, Touch::read, lane);
    const char symbol = *reinterpret_cast<const char*>(address + range.bytes);
    if (symbol == '\0') return text;
    text += symbol;
  }
}

/// Reads arguments of printf as the device laid them out: each aligned to its size.
class Arguments {
 public:
  Arguments(Warp& warp, const Operation& operation, uint64_t address, uint32_t lane)
      : warp_(warp), operation_(operation), address_(address), lane_(lane) {}

  template <class T>
  T next() {
    address_ = (address_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const CachedRange range = find_range(warp_, operation_, address_, sizeof(T), Touch::read, lane_);
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address_ + range.bytes), sizeof value);
    address_ += sizeof(T);
    return value;
  }

 private:
  Warp& warp_;
  const Operation& operation_;
  uint64_t address_;
  uint32_t lane_;
};

template <class T>
std::string formatted(const std::string& pattern, T value) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, pattern.c_str(), value);
  return buffer;
}

/// One conversion such as "%-5.3f".
std::string convert(Warp& warp, const Operation& operation, std::string pattern, Arguments& arguments,
                    uint32_t lane) {
  for (size_t star; (star = pattern.find('*')) != pattern.npos;) {
    pattern.replace(star, 1, std::to_string(arguments.next<int32_t>()));
  }
  const char kind = pattern.back();
  if (std::strchr("eEfFgGaA", kind) != nullptr) return formatted(pattern, arguments.next<double>());
  if (kind == 's')
    return formatted(pattern, text_at(warp, operation, arguments.next<uint64_t>(), lane).c_str());
  if (kind == 'p') return formatted(pattern, reinterpret_cast<void*>(arguments.next<uint64_t>()));
  const bool is_long = pattern.find_first_of("lzjt") != pattern.npos;
  return is_long ? formatted(pattern, arguments.next<int64_t>())
                 : formatted(pattern, arguments.next<int32_t>());
}

void print_lane(Warp& warp, const Operation& operation, uint32_t lane) {
  const auto pattern_at = local_value<uint64_t>(warp, operation, operation.v[0], lane);
  Arguments arguments(warp, operation, local_value<uint64_t>(warp, operation, operation.v[1], lane), lane);
  const std::string pattern = text_at(warp, operation, pattern_at, lane);
  std::string text;
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '%') {
      text += pattern[at++];
    } else if (pattern.compare(at, 2, "%%") == 0) {
      text += '%';
      at += 2;
    } else {
      const size_t end = pattern.find_first_of("diouxXeEfFgGaAcsp", at);
      if (end == pattern.npos) break;
      text += convert(warp, operation, pattern.substr(at, end + 1 - at), arguments, lane);
      at = end + 1;
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void print_from_device(Warp& warp, const Operation& operation) {
  each_lane(warp, [&](uint32_t lane) { print_lane(warp, operation, lane); });
}

void assertion_failed(Warp& warp, const Operation& operation) {
  const uint32_t lane = warp.first_lane();
  const auto text = [&](int index) {
    return text_at(warp, operation, local_value<uint64_t>(warp, operation, operation.v[index], lane), lane);
  };
  fault(warp, operation, cudaErrorAssert,
        format("assertion `%s` failed at %s:%u,", text(0).c_str(), text(1).c_str(),
               local_value<uint32_t>(warp, operation, operation.v[2], lane)),
        lane);
}

}  // namespace simgpu
