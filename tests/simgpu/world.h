// The one lock around all that is simulated. Every call of the interface takes it; host callbacks and the
// work of library stand-ins run without it, because they may wait for other threads.
#pragma once

#include <condition_variable>
#include <mutex>

namespace simgpu {

/// Holds the lock; a thread may nest it.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

/// Gives the lock up for a while, however often this thread holds it.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  int depth_;
};

/// Gives the lock up until another thread has finished a piece of work.
void wait_for_progress();
void announce_progress();

}  // namespace simgpu
