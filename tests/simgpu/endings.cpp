#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/endings.h>
#include <tern/tests/simgpu/graph_handles.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>
#include <tern/tests/simgpu/statistics.h>
#include <tern/tests/simgpu/streams.h>
#include <tern/tests/simgpu/world.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace simgpu {
namespace {

std::vector<std::pair<const char*, std::function<int64_t()>>>& checks() {
  static auto& result = *new std::vector<std::pair<const char*, std::function<int64_t()>>>;
  return result;
}

void report_count_of(const char* kind, int64_t live) {
  if (live != 0) report(format("leak: %" PRId64 " %s at exit", live, kind));
}

void report_leaks() {
  for (const auto& [address, allocation] : allocations()) {
    if (!allocation.live || std::string_view(allocation.call) == "module") continue;
    report("leak: " + describe_address(address).substr(std::string("byte 0 of ").size()));
  }
  report_count_of("streams", live_streams());
  report_count_of("events", live_events());
  report_count_of("graphs", live_graphs());
  report_count_of("executable graphs", live_programs());
  for (const auto& [kind, live] : checks()) report_count_of(kind, live());
}

/// A device that has failed refuses to free anything.
bool some_device_failed() {
  for (int device = 0; device < device_count(); ++device) {
    if (device_number(device).error != cudaSuccess) return true;
  }
  return false;
}

/// Runs after the program's own exit handlers and destructors: libraries are closed after what uses them.
[[gnu::destructor]] void end_of_process() {
  if (settings().statistics) print_statistics();
  if (settings().leaks && !some_device_failed()) report_leaks();
  if (report_count() == 0) return;
  std::fflush(nullptr);
  _exit(reported_status);
}

}  // namespace

void add_exit_check(const char* kind, std::function<int64_t()> live) {
  const Locked lock;
  checks().emplace_back(kind, std::move(live));
}

}  // namespace simgpu
