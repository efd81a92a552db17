#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/injection.h>
#include <tern/tests/simgpu/races.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>
#include <tern/tests/simgpu/tasks.h>
#include <tern/tests/simgpu/world.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

namespace simgpu {
namespace {

constexpr size_t longest_queue = 4096;  // a real device's queues are finite too

struct Schedule {
  std::map<uint64_t, TaskPointer> unfinished;  // by serial
  std::vector<TaskPointer> ready;
  std::vector<uint64_t> lane_positions;
  std::vector<int> free_lanes;
  Clock host;  // what the host has synchronised with
  uint64_t serial = 0, mark = 0;
  size_t running = 0;
  std::mt19937_64 random{settings().seed};
};

Schedule& schedule() {
  static Schedule& result = *new Schedule;
  return result;
}

void make_ready(Schedule& all, const TaskPointer& task) {
  task->state = Task::State::ready;
  all.ready.push_back(task);
}

void perform(Task& task) {
  Device& device = device_number(task.work.device);
  if (injected("lost")) {
    report(format("device %d is lost before %s", task.work.device, task.work.name.c_str()));
    device.error = cudaErrorECCUncorrectable;
  }
  if (device.error != cudaSuccess || !task.work.run) return;
  try {
    task.work.run(task);
    check_races(task);
  } catch (const Fault& fault) {
    report(fault.what());
    device.error = fault.error;
  }
}

void run_task(Schedule& all, const TaskPointer& task) {
  std::erase(all.ready, task);
  task->state = Task::State::running;
  task->before.clear();
  ++all.running;
  perform(*task);
  --all.running;
  task->state = Task::State::done;
  task->work.run = nullptr;  // may own much
  all.unfinished.erase(task->serial);
  for (const TaskPointer& follower : task->followers) {
    if (--follower->missing == 0) make_ready(all, follower);
  }
  task->followers.clear();
  announce_progress();
}

/// Marks all that the targets wait for, themselves included.
void mark_needed(Schedule& all, const std::vector<TaskPointer>& targets) {
  ++all.mark;
  std::vector<Task*> stack;
  for (const TaskPointer& target : targets) stack.push_back(target.get());
  while (!stack.empty()) {
    Task* task = stack.back();
    stack.pop_back();
    if (task->is_done() || task->mark == all.mark) continue;
    task->mark = all.mark;
    for (const TaskPointer& earlier : task->before) stack.push_back(earlier.get());
  }
}

/// Whether the task, at the head of its stream, need not wait for others outside of the queues.
bool may_run(const Task& task) {
  const bool failed = device_number(task.work.device).error != cudaSuccess;  // then it does nothing
  return !task.work.ready || failed || task.work.ready();
}

/// Gives the lock up for a moment: who is waited for may be in another process.
void wait_a_moment() {
  const Unlocked unlocked;
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// One of the ready tasks; null if there is none that may be taken.
TaskPointer choose(Schedule& all, uint64_t mark, bool only_needed) {
  std::vector<TaskPointer> candidates;
  for (const TaskPointer& task : all.ready) {
    if ((!only_needed || task->mark == mark) && may_run(*task)) candidates.push_back(task);
  }
  if (candidates.empty()) return nullptr;
  if (settings().seed == 0) {
    return *std::min_element(
        candidates.begin(), candidates.end(),
        [](const TaskPointer& a, const TaskPointer& b) { return a->serial < b->serial; });
  }
  return candidates[all.random() % candidates.size()];
}

bool all_done(const std::vector<TaskPointer>& targets) {
  return std::all_of(targets.begin(), targets.end(), [](const TaskPointer& task) { return task->is_done(); });
}

}  // namespace

void Clock::join(const Clock& other) {
  positions_.resize(std::max(positions_.size(), other.positions_.size()));
  for (size_t lane = 0; lane < other.positions_.size(); ++lane) {
    positions_[lane] = std::max(positions_[lane], other.positions_[lane]);
  }
}

void Clock::set(int lane, uint64_t position) {
  const auto index = static_cast<size_t>(lane);
  if (positions_.size() <= index) positions_.resize(index + 1);
  positions_[index] = position;
}

bool Clock::covers(int lane, uint64_t position) const {
  const auto index = static_cast<size_t>(lane);
  return index < positions_.size() && positions_[index] >= position;
}

Task::Task() = default;
Task::~Task() = default;

int make_lane() {
  Schedule& all = schedule();
  if (all.free_lanes.empty()) {
    all.lane_positions.push_back(0);
    return static_cast<int>(all.lane_positions.size()) - 1;
  }
  const int lane = all.free_lanes.back();
  all.free_lanes.pop_back();
  return lane;
}

void release_lane(int lane) { schedule().free_lanes.push_back(lane); }

TaskPointer submit(Work work, int lane, const std::vector<TaskPointer>& behind) {
  Schedule& all = schedule();
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  task->lane = lane;
  task->position = ++all.lane_positions[static_cast<size_t>(lane)];
  task->serial = ++all.serial;
  task->clock = all.host;
  for (const TaskPointer& earlier : behind) {
    if (earlier == nullptr) continue;
    task->clock.join(earlier->clock);
    if (earlier->is_done()) continue;
    task->before.push_back(earlier);
    earlier->followers.push_back(task);
    ++task->missing;
  }
  task->clock.set(lane, task->position);
  note_lane(lane);
  all.unfinished[task->serial] = task;
  if (task->missing == 0) make_ready(all, task);
  // The oldest task has no unfinished predecessor: it runs, if it is not running already.
  while (all.unfinished.size() > longest_queue) {
    const TaskPointer oldest = all.unfinished.begin()->second;
    if (oldest->state == Task::State::running) {
      wait_for_progress();
    } else if (may_run(*oldest)) {
      run_task(all, oldest);
    } else if (const TaskPointer other = choose(all, 0, false)) {
      run_task(all, other);
    } else {
      wait_a_moment();
    }
  }
  return task;
}

void run_until_done(const std::vector<TaskPointer>& wanted) {
  Schedule& all = schedule();
  std::vector<TaskPointer> targets;
  for (const TaskPointer& task : wanted) {
    if (task != nullptr) targets.push_back(task);
  }
  mark_needed(all, targets);
  const uint64_t mark = all.mark;
  // Half of the time other streams starve, half of the time they run ahead.
  const bool only_needed = settings().seed == 0 || all.random() % 2 == 0;
  while (!all_done(targets)) {
    TaskPointer next = choose(all, mark, only_needed);
    if (next == nullptr && only_needed) next = choose(all, mark, false);
    if (next != nullptr) {
      run_task(all, next);
    } else if (!all.ready.empty()) {
      wait_a_moment();
    } else if (all.running > 0) {
      wait_for_progress();
    } else {
      give_up("streams wait for each other: nothing can run");
    }
  }
  for (const TaskPointer& task : targets) all.host.join(task->clock);
  forget_ordered(all.host, all.unfinished.empty());
}

void run_a_little(const TaskPointer& target) {
  Schedule& all = schedule();
  if (target == nullptr || target->is_done()) return;
  mark_needed(all, {target});
  const TaskPointer next = choose(all, all.mark, true);
  if (next != nullptr) run_task(all, next);
}

void run_any() {
  const TaskPointer next = choose(schedule(), 0, false);
  if (next != nullptr) run_task(schedule(), next);
}

std::vector<TaskPointer> unfinished_tasks() {
  std::vector<TaskPointer> result;
  for (const auto& [serial, task] : schedule().unfinished) result.push_back(task);
  return result;
}

}  // namespace simgpu
