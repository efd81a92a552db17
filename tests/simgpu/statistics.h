// How much was executed: printed at exit with SIMGPU_STATISTICS=1.
#pragma once

#include <cstdint>

namespace simgpu {

void count_operations(uint64_t operations, uint64_t lane_operations);
void count_seconds(double seconds);
void print_statistics();

}  // namespace simgpu
