// Work and the order in which it runs. Nothing runs when it is queued: tasks wait until somebody
// synchronises, and then run one at a time in an order that their dependencies allow, chosen by chance from
// SIMGPU_SEED. A missing event or synchronisation thus shows up as a wrong result under some seed, and as a
// report of races.h under any. All functions want the lock of world.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace simgpu {

struct Task;
struct Footprint;
using TaskPointer = std::shared_ptr<Task>;

/// How many tasks of each lane happened before something. A lane is a sequence of tasks in order, a stream
/// for one.
class Clock {
 public:
  void join(const Clock& other);
  void set(int lane, uint64_t position);
  bool covers(int lane, uint64_t position) const;

 private:
  std::vector<uint64_t> positions_;
};

enum class WorkKind { kernel, copy, set, host, empty, allocate, release };

/// What a task does. A graph keeps it and makes a task of it at each launch.
struct Work {
  std::string name;
  int device = 0;
  std::function<void(Task&)> run = {};  // may throw Fault
  std::function<bool()> ready = {};     // asked at the head of the stream; null: it is
  WorkKind kind = WorkKind::empty;
  bool unlocked = false;                  // `run` gives the lock up itself for a while
  std::shared_ptr<void> parameters = {};  // of a kernel: its Launch
};

struct Task {
  Work work;
  int lane = 0;
  uint64_t position = 0;  // in its lane
  uint64_t serial = 0;    // in the process
  Clock clock;            // what is ordered before it, and itself
  std::vector<TaskPointer> before, followers;
  size_t missing = 0;  // predecessors that have not finished
  enum class State { waiting, ready, running, done } state = State::waiting;
  uint64_t mark = 0;
  std::unique_ptr<Footprint> footprint;

  Task();
  ~Task();
  bool is_done() const { return state == State::done; }
  /// Whether `other` is ordered before this one.
  bool follows(const Task& other) const { return clock.covers(other.lane, other.position); }
};

/// A new lane; release_lane gives it to the next who asks.
int make_lane();
void release_lane(int lane);

/// Queues work behind the tasks.
TaskPointer submit(Work work, int lane, const std::vector<TaskPointer>& behind);

/// Runs tasks until the targets are done; from then on everything queued comes after these. False for a
/// target that can never finish.
void run_until_done(const std::vector<TaskPointer>& targets);

/// Runs at least one task that `target` waits for, if there is one: somebody asked whether it is done.
void run_a_little(const TaskPointer& target);

/// Runs one task, if one may run.
void run_any();

/// Tasks that have not finished, in the order of their queuing.
std::vector<TaskPointer> unfinished_tasks();

}  // namespace simgpu
