// What the environment says about the simulated devices, read once; README.md lists the variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simgpu {

struct Settings {
  std::vector<int> devices;         // the machine's numbers of the devices that the process sees
  size_t memory = size_t{4} << 30;  // bytes a device
  int capability = 80;              // 80, 90 or 100
  uint64_t seed = 0;        // of the order in which streams run; 0: as queued, and no sooner than needed
  bool leaks = true;        // report what lives at exit
  bool races = true;        // look for work on several streams that nothing orders
  bool statistics = false;  // print how much was executed, at exit
};

const Settings& settings();

}  // namespace simgpu
