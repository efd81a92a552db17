#include <tern/tests/simgpu/grid.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/warp.h>

#include <algorithm>

namespace simgpu {
namespace {

void find_next(Warp& warp) {
  warp.next = all_lanes;
  for (const Group& group : warp.waiting) warp.next = std::min(warp.next, group.at);
}

/// Goes on with the groups that are furthest behind, joined by this one if it is there too.
void converge(Warp& warp) {
  if (warp.mask != 0 && warp.at > warp.next) {
    warp.waiting.push_back({warp.at, warp.mask});
    warp.mask = 0;
  }
  const uint32_t at = warp.next;
  std::erase_if(warp.waiting, [&](const Group& group) {
    if (group.at == at) warp.mask |= group.mask;
    return group.at == at;
  });
  warp.at = at;
  find_next(warp);
}

uint32_t guarded_mask(Warp& warp, const Operation& operation) {
  if (operation.guard == 0) return warp.mask;
  const uint32_t guard = warp.predicate(operation.guard);
  return warp.mask & (operation.negated ? ~guard : guard);
}

/// Sends `taken` to `target`; the others go on with the next operation.
void branch(Warp& warp, uint32_t taken, uint32_t target) {
  if (taken == warp.mask) {
    warp.at = target;
    return;
  }
  ++warp.at;
  if (taken == 0) return;
  warp.waiting.push_back({target, taken});
  warp.mask &= ~taken;
  warp.next = std::min(warp.next, target);
}

void branch_by_table(Warp& warp, const Operation& operation) {
  const std::vector<uint32_t>& table = warp.block->kernel->tables[static_cast<size_t>(operation.immediate)];
  const uint32_t* index = warp.lanes<uint32_t>(operation.a);
  const uint32_t taken = guarded_mask(warp, operation);
  const uint32_t others = warp.mask & ~taken;
  each_lane(warp, [&](uint32_t lane) {
    if ((taken >> lane & 1) == 0) return;
    if (index[lane] >= table.size())
      fault(warp, operation, cudaErrorIllegalInstruction, "no such branch", lane);
    warp.waiting.push_back({table[index[lane]], uint32_t{1} << lane});
  });
  if (others != 0) warp.waiting.push_back({warp.at + 1, others});
  warp.mask = 0;
  find_next(warp);
  converge(warp);
}

/// True when no lane is left.
bool leave(Warp& warp, const Operation& operation) {
  const uint32_t leaving = guarded_mask(warp, operation);
  warp.live &= ~leaving;
  warp.mask &= ~leaving;
  if (warp.mask != 0) {
    ++warp.at;
    return false;
  }
  if (warp.waiting.empty()) return true;
  warp.at = all_lanes;
  converge(warp);
  return false;
}

/// False where no lane that runs takes part.
bool reach_barrier(Warp& warp, const Operation& operation) {
  const uint32_t arriving = guarded_mask(warp, operation);
  if (arriving == 0) return false;
  if ((warp.live & ~arriving) != 0) {
    fault(warp, operation, cudaErrorLaunchFailure, "a barrier that only some lanes of the warp have reached");
  }
  warp.barrier = operation.b == 0 ? 0 : warp.lanes<uint32_t>(operation.b)[warp.first_lane()];
  warp.barrier_threads = operation.c == 0 ? 0 : warp.lanes<uint32_t>(operation.c)[warp.first_lane()];
  if (operation.step == Step::reduction) {
    const uint32_t value = warp.predicate(operation.a);
    const uint32_t votes = (operation.flag != 0 ? ~value : value) & warp.mask;
    warp.block->any += votes != 0;
    warp.block->all += votes != warp.mask;
    warp.block->count += static_cast<uint32_t>(std::popcount(votes));
  }
  warp.at_barrier = true;
  return true;
}

void run_guarded(Warp& warp, const Operation& operation) {
  const uint32_t mask = warp.mask;
  warp.mask = guarded_mask(warp, operation);
  if (warp.mask != 0) operation.run(warp, operation);
  warp.mask = mask;
}

}  // namespace

void run_warp(Warp& warp, uint64_t steps) {
  const Operation* code = warp.block->kernel->code.data();
  uint64_t operations = 0, lane_operations = 0;
  for (bool stop = false; !stop && operations < steps;) {
    if (warp.at >= warp.next) [[unlikely]]
      converge(warp);
    const Operation& operation = code[warp.at];
    ++operations;
    lane_operations += static_cast<uint64_t>(std::popcount(warp.mask));
    switch (operation.step) {
      case Step::plain:
        operation.run(warp, operation);
        ++warp.at;
        break;
      case Step::guarded:
        run_guarded(warp, operation);
        ++warp.at;
        break;
      case Step::branch:
        branch(warp, guarded_mask(warp, operation), static_cast<uint32_t>(operation.immediate));
        break;
      case Step::table:
        branch_by_table(warp, operation);
        break;
      case Step::exit:
        stop = warp.done = leave(warp, operation);
        break;
      case Step::barrier:
      case Step::reduction:
        stop = reach_barrier(warp, operation);
        if (!stop) ++warp.at;
        break;
    }
  }
  warp.operations += operations;
  warp.lane_operations += lane_operations;
}

std::string where(const Warp& warp, const Operation& operation, uint32_t lane) {
  const Block& block = *warp.block;
  const auto index = static_cast<size_t>(&operation - block.kernel->code.data());
  const SourceLine& line = block.kernel->lines[index];
  std::string source;
  const auto file = block.kernel->module->files.find(line.source_file);
  if (file != block.kernel->module->files.end()) {
    source = format(", %s:%d", file->second.c_str(), line.source_line);
  }
  const uint32_t thread = warp.index * 32 + lane;
  return format("in %s, PTX line %d `%s`%s, block (%u,%u,%u), warp %u, lane %u, thread (%u,%u,%u)",
                block.kernel->title.c_str(), line.line, line.text.c_str(), source.c_str(), block.index[0],
                block.index[1], block.index[2], warp.index, lane, thread % block.size[0],
                thread / block.size[0] % block.size[1], thread / block.size[0] / block.size[1]);
}

void fault(const Warp& warp, const Operation& operation, cudaError_t error, const std::string& what,
           uint32_t lane) {
  throw Fault(error, what + " " + where(warp, operation, lane < 32 ? lane : warp.first_lane()));
}

}  // namespace simgpu
