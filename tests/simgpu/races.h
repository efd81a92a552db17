// Races between streams: two tasks that nothing orders, of which at least one writes memory that both touch.
// Each task keeps which bytes it touched until all later tasks are ordered behind it. All functions want the
// lock of world.h.
#pragma once

#include <tern/tests/simgpu/tasks.h>

#include <array>
#include <unordered_map>
#include <vector>

namespace simgpu {

enum class Touch { read, write, atomic };

/// The bytes that one task touched. Kernels mark single bytes, copies and libraries whole ranges.
struct Footprint {
  static constexpr uint64_t page = 4096;
  struct Page {
    std::array<std::array<uint64_t, page / 64>, 3> touched{};  // a bit for each byte, by Touch
  };
  struct Range {
    uint64_t address, end;
    Touch touch;
  };
  std::unordered_map<uint64_t, Page> pages;
  std::vector<Range> ranges;
  uint64_t last_number = ~uint64_t{0};
  Page* last_page = nullptr;

  void mark(uint64_t address, uint64_t bytes, Touch touch);
  void mark_range(uint64_t address, uint64_t bytes, Touch touch);
};

/// The task's footprint, made where races are possible at all; null where only one lane was ever used.
Footprint* footprint_of(Task& task);

/// Reports races of the task, which has just run, with earlier ones.
void check_races(Task& task);

/// Drops what the host has waited for, once nothing is queued that could still race with it.
void forget_ordered(const Clock& host, bool nothing_queued);

/// A lane has got a task.
void note_lane(int lane);

}  // namespace simgpu
