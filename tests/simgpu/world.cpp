#include <tern/tests/simgpu/world.h>

namespace simgpu {
namespace {

struct World {
  std::mutex mutex;
  std::condition_variable progress;
};

World& world() {
  static World& result = *new World;  // outlives whatever runs at exit
  return result;
}

thread_local int depth = 0;

}  // namespace

Locked::Locked() {
  if (depth++ == 0) world().mutex.lock();
}

Locked::~Locked() {
  if (--depth == 0) world().mutex.unlock();
}

Unlocked::Unlocked() : depth_(depth) {
  depth = 0;
  world().mutex.unlock();
}

Unlocked::~Unlocked() {
  world().mutex.lock();
  depth = depth_;
}

void wait_for_progress() {
  const int held = depth;
  depth = 0;
  {
    std::unique_lock lock(world().mutex, std::adopt_lock);
    world().progress.wait(lock);
    lock.release();
  }
  depth = held;
}

void announce_progress() { world().progress.notify_all(); }

}  // namespace simgpu
