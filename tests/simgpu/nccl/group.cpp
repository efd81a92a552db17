#include <tern/tests/simgpu/nccl/group.h>
#include <unistd.h>

#include <algorithm>

namespace simgpu::nccl {
namespace {

/// Asks all steps until all are done: those of one group may wait for each other.
void finish(std::vector<std::pair<ncclComm_t, Step>> steps) {
  while (true) {
    std::erase_if(steps, [](const auto& step) { return step.first->state->aborted || step.second(); });
    if (steps.empty()) return;
    usleep(50);
  }
}

ncclResult_t take_steps(std::vector<std::pair<ncclComm_t, Step>> steps) {
  std::vector<std::pair<ncclComm_t, Step>> to_wait_for;
  ncclResult_t result = ncclSuccess;
  for (auto& [comm, step] : steps) {
    if (comm->state->blocking) {
      to_wait_for.emplace_back(comm, step);
    } else if (!step()) {
      comm->pending.push_back(step);
      result = ncclInProgress;
    }
  }
  finish(to_wait_for);
  for (auto& [comm, step] : steps) {
    if (comm->state->error != ncclSuccess) result = comm->state->error;
  }
  return result;
}

ncclResult_t run(Group asked) {
  ncclResult_t result = take_steps(std::move(asked.steps));
  const auto keep = [&](ncclResult_t other) {
    if (result == ncclSuccess || (result == ncclInProgress && other != ncclSuccess)) result = other;
  };
  for (const auto& collective : asked.collectives) keep(collective());
  while (!asked.messages.empty()) {
    const ncclComm_t comm = asked.messages.front().first;
    std::vector<Message> of_one;
    std::erase_if(asked.messages, [&](const auto& message) {
      if (message.first != comm) return false;
      of_one.push_back(message.second);
      return true;
    });
    keep(exchange_messages(comm, of_one));
  }
  return result;
}

}  // namespace

Group& group() {
  static thread_local Group the_group;
  return the_group;
}

bool in_group() { return group().depth > 0; }

ncclResult_t take(ncclComm_t comm, Step step) {
  if (in_group()) return group().steps.emplace_back(comm, std::move(step)), ncclSuccess;
  return take_steps({{comm, std::move(step)}});
}

}  // namespace simgpu::nccl

using simgpu::nccl::Group;
using simgpu::nccl::group;

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group().depth == 0) {
    simgpu::report_misuse("ncclGroupEnd", "there is no ncclGroupStart for it");
    return ncclInvalidUsage;
  }
  if (--group().depth > 0) return ncclSuccess;
  Group asked = std::exchange(group(), {});
  if (asked.error != ncclSuccess) return asked.error;
  return simgpu::nccl::run(std::move(asked));
}
