#include <tern/tests/simgpu/statistics.h>

#include <cstdio>

namespace simgpu {
namespace {

uint64_t operations = 0, lane_operations = 0;
double seconds = 0;

}  // namespace

void count_operations(uint64_t more, uint64_t more_lanes) {
  operations += more;
  lane_operations += more_lanes;
}

void count_seconds(double more) { seconds += more; }

void print_statistics() {
  std::fprintf(stderr,
               "simgpu: %.1f million warp instructions, %.1f million lane instructions, %.3f s: %.2f G/s\n",
               static_cast<double>(operations) / 1e6, static_cast<double>(lane_operations) / 1e6, seconds,
               seconds > 0 ? static_cast<double>(lane_operations) / seconds / 1e9 : 0.0);
}

}  // namespace simgpu
