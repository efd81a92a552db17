// What the tests with several devices have in common; devices.cpp makes eight.
#pragma once

#include <tern/tern.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tern::tests {

inline std::vector<Device> cpus(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.emplace_back(DeviceType::cpu, i);
  return devices;
}

inline const Device second(DeviceType::cpu, 1), third(DeviceType::cpu, 2);

/// The sizes of the first dimension.
inline std::vector<int64_t> rows_of(const std::vector<Tensor>& parts) {
  std::vector<int64_t> rows;
  for (const Tensor& part : parts) rows.push_back(part.size(0));
  return rows;
}

}  // namespace tern::tests
