// Where a tensor lives.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace tern {

enum class DeviceType : unsigned char { cpu, cuda };

/// A device: its type and which one. "cpu", "cpu:1", "cuda" (device 0) and "cuda:2" convert to it.
///
/// The CPU is one device, unless the environment variable TERN_CPU_DEVICES asks for several virtual ones (1
/// to 64): they share the machine but keep their tensors apart, so that a program for many devices runs on a
/// laptop.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType device_type, int device_index = 0) : type(device_type), index(device_index) {}
  /// Throws Error for any other spelling, and for an index that does not exist.
  Device(std::string_view text);
  Device(const char* text) : Device(std::string_view(text)) {}
  Device(const std::string& text) : Device(std::string_view(text)) {}

  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_cuda() const { return type == DeviceType::cuda; }
  bool operator==(const Device&) const = default;
};

std::string to_string(Device device);
std::ostream& operator<<(std::ostream& out, Device device);

/// How many CPU devices there are: 1, or TERN_CPU_DEVICES (read once). Throws Error when that is no number
/// from 1 to 64.
int cpu_device_count();

/// Throws Error unless `device` exists.
void check_device(Device device);

}  // namespace tern
