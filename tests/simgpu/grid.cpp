#include <tern/tests/simgpu/grid.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/statistics.h>
#include <tern/tests/simgpu/tasks.h>

#include <algorithm>
#include <cstring>

namespace simgpu {
namespace {

constexpr uint64_t turn = 1 << 20;  // operations after which a warp that may wait for another lets it run

void fill_lanes(Warp& warp, uint32_t offset, uint32_t value) {
  if (offset == 0) return;
  for (uint32_t lane = 0; lane < 32; ++lane) warp.lanes<uint32_t>(offset)[lane] = value;
}

void set_special(Block& block, const char* name, const std::array<uint32_t, 3>& value) {
  constexpr std::array<const char*, 3> axes = {".x", ".y", ".z"};
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t offset = block.kernel->special_register(std::string(name) + axes[axis]);
    for (Warp& warp : block.warps) fill_lanes(warp, offset, value[axis]);
  }
}

/// Special registers that are the same in all blocks.
void set_constant_registers(Block& block, uint32_t dynamic_shared) {
  const Kernel& kernel = *block.kernel;
  const std::array<uint32_t, 3> size = block.size;
  set_special(block, "%ntid", size);
  set_special(block, "%nctaid", block.grid);
  block.index_registers = {kernel.special_register("%ctaid.x"), kernel.special_register("%ctaid.y"),
                           kernel.special_register("%ctaid.z")};
  constexpr std::array<const char*, 3> axes = {"%tid.x", "%tid.y", "%tid.z"};
  for (Warp& warp : block.warps) {
    fill_lanes(warp, kernel.special_register("%warpid"), warp.index);
    fill_lanes(warp, kernel.special_register("%nwarpid"), 64);
    fill_lanes(warp, kernel.special_register("%nsmid"), 1);
    fill_lanes(warp, kernel.special_register("%dynamic_smem_size"), dynamic_shared);
    fill_lanes(warp, kernel.special_register("%total_smem_size"), block.shared_bytes);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t thread = warp.index * 32 + lane;
      const std::array<uint32_t, 3> place = {thread % size[0], thread / size[0] % size[1],
                                             thread / size[0] / size[1]};
      for (size_t axis = 0; axis < 3; ++axis) {
        const uint32_t offset = kernel.special_register(axes[axis]);
        if (offset != 0) warp.lanes<uint32_t>(offset)[lane] = place[axis];
      }
      const uint32_t lane_register = kernel.special_register("%laneid");
      if (lane_register != 0) warp.lanes<uint32_t>(lane_register)[lane] = lane;
    }
  }
}

void start_block(Block& block) {
  ++block.epoch;
  for (Warp& warp : block.warps) {
    for (size_t axis = 0; axis < 3; ++axis) fill_lanes(warp, block.index_registers[axis], block.index[axis]);
    const uint32_t threads = block.threads - warp.index * 32;
    warp.live = warp.mask = threads >= 32 ? all_lanes : (uint32_t{1} << threads) - 1;
    warp.at = 0;
    warp.next = all_lanes;
    warp.done = warp.at_barrier = false;
    warp.waiting.clear();
    warp.uncommitted.clear();
    warp.copies.clear();
  }
}

/// Gives the result of barrier.red to a warp.
void finish_reduction(Block& block, Warp& warp, const Operation& operation) {
  if (operation.count == 0) {
    uint32_t* result = warp.lanes<uint32_t>(operation.d);
    each_lane(warp, [&](uint32_t lane) { result[lane] = block.count; });
    return;
  }
  const bool holds = operation.count == 1 ? block.any != 0 : block.all == 0;
  set_predicate(warp, operation.d, holds ? all_lanes : 0);
}

/// Lets the warps go on whose barrier is complete. False if there is none.
bool open_barriers(Block& block) {
  bool opened = false;
  uint32_t living = 0;
  for (const Warp& warp : block.warps)
    living += warp.done ? 0 : static_cast<uint32_t>(std::popcount(warp.live));
  for (const Warp& first : block.warps) {
    if (!first.at_barrier || first.done) continue;
    const int64_t number = first.barrier;
    const uint32_t wanted = first.barrier_threads == 0 ? living : first.barrier_threads;
    uint32_t arrived = 0;
    for (const Warp& warp : block.warps) {
      // A barrier with a number of threads counts whole warps.
      const bool here = warp.at_barrier && !warp.done && warp.barrier == number;
      if (here) arrived += first.barrier_threads == 0 ? static_cast<uint32_t>(std::popcount(warp.live)) : 32;
    }
    if (arrived < wanted) continue;
    for (Warp& warp : block.warps) {
      if (!warp.at_barrier || warp.done || warp.barrier != number) continue;
      const Operation& operation = block.kernel->code[warp.at];
      if (operation.step == Step::reduction) finish_reduction(block, warp, operation);
      warp.at_barrier = false;
      ++warp.at;
    }
    block.any = block.all = block.count = 0;
    ++block.epoch;
    opened = true;
  }
  return opened;
}

void run_block(Block& block) {
  start_block(block);
  for (;;) {
    bool ran = false, all_done = true;
    for (Warp& warp : block.warps) {
      if (!warp.done && !warp.at_barrier) {
        run_warp(warp, turn);
        ran = true;
      }
      all_done = all_done && warp.done;
    }
    if (all_done) return;
    const bool some_run = std::any_of(block.warps.begin(), block.warps.end(),
                                      [](const Warp& warp) { return !warp.done && !warp.at_barrier; });
    if (!some_run && !open_barriers(block) && ran) {
      const auto stuck = std::find_if(block.warps.begin(), block.warps.end(),
                                      [](const Warp& warp) { return warp.at_barrier && !warp.done; });
      fault(*stuck, block.kernel->code[stuck->at], cudaErrorLaunchFailure,
            "a barrier that other warps never reach: they wait elsewhere");
    }
  }
}

/// Register files for all warps, aligned for vectors.
class RegisterFiles {
 public:
  RegisterFiles(const Kernel& kernel, std::vector<Warp>& warps)
      : bytes_(kernel.register_bytes * warps.size() + 64) {
    const auto start = (reinterpret_cast<uint64_t>(bytes_.data()) + 63) / 64 * 64;
    for (size_t index = 0; index < warps.size(); ++index) {
      warps[index].registers = reinterpret_cast<uint8_t*>(start + index * kernel.register_bytes);
      for (const auto& [offset, value] : kernel.constants) {
        std::memcpy(warps[index].registers + offset, value.data(), value.size());
      }
    }
  }

 private:
  std::vector<uint8_t> bytes_;
};

void set_up(Block& block, const Launch& launch, Task& task) {
  const Kernel& kernel = *launch.kernel;
  block.kernel = &kernel;
  block.task = &task;
  block.device = launch.device;
  block.parameters = launch.parameters.data();
  block.grid = launch.grid;
  block.size = launch.block;
  block.threads = block.size[0] * block.size[1] * block.size[2];
  block.shared_base = window_base() + (uint64_t{1} << 24);
  block.local_base = window_base() + (uint64_t{1} << 32);
  block.shared_bytes = kernel.shared_bytes + launch.dynamic_shared;
  block.shared_words.resize(block.shared_bytes / 4 + 2);
  block.ranges.resize(kernel.caches);
  block.footprint = footprint_of(task);
  block.warps.resize((block.threads + 31) / 32);
  for (size_t index = 0; index < block.warps.size(); ++index) {
    block.warps[index].block = &block;
    block.warps[index].index = static_cast<uint32_t>(index);
  }
}

}  // namespace

void run_grid(const Launch& launch, Task& task) {
  Block block;
  set_up(block, launch, task);
  const RegisterFiles registers(*launch.kernel, block.warps);
  set_constant_registers(block, launch.dynamic_shared);
  for (block.index[2] = 0; block.index[2] < block.grid[2]; ++block.index[2]) {
    for (block.index[1] = 0; block.index[1] < block.grid[1]; ++block.index[1]) {
      for (block.index[0] = 0; block.index[0] < block.grid[0]; ++block.index[0]) run_block(block);
    }
  }
  for (const Warp& warp : block.warps) count_operations(warp.operations, warp.lane_operations);
}

}  // namespace simgpu
