#include <tern/distributed/parallel_apply.h>

#include <tern/core/error.h>
#include <tern/core/profile.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tern::nn::parallel::detail {

struct Threads::Shared {
  std::mutex mutex;  // guards what follows
  std::condition_variable work, done;
  uint64_t round = 0;
  const std::function<void(size_t)>* task = nullptr;
  ThreadModes modes;
  size_t count = 0, busy = 0;
  bool stopping = false;
  std::vector<std::exception_ptr> errors;  // one a task; its own thread writes it

  std::vector<std::thread> threads;  // number i runs task i + 1

  void attempt(size_t i) {
    try {
      (*task)(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  }
  void work_on(size_t i, uint64_t seen);
};

void Threads::Shared::work_on(size_t i, uint64_t seen) {
  name_this_thread("replica", static_cast<int>(i));
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [&] { return stopping || round != seen; });
    if (stopping) return;
    seen = round;
    if (i >= count) continue;
    lock.unlock();
    {
      const ThreadModesGuard guard(modes);
      attempt(i);
    }
    lock.lock();
    if (--busy == 0) done.notify_one();
  }
}

Threads::Threads() : shared_(std::make_unique<Shared>()) {}

Threads::~Threads() { stop(); }

void Threads::stop() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->work.notify_all();
  for (std::thread& thread : shared_->threads) thread.join();
  shared_->threads.clear();
  shared_->stopping = false;
}

void Threads::start(size_t count) {
  try {
    while (shared_->threads.size() + 1 < count) {
      const size_t number = shared_->threads.size() + 1;
      shared_->threads.emplace_back(
          [shared = shared_.get(), number, seen = shared_->round] { shared->work_on(number, seen); });
    }
  } catch (const std::exception& error) {
    const size_t started = shared_->threads.size() + 1;
    stop();
    check(false, "parallel_apply: the system gave ", started, " of ", count, " threads: ", error.what());
  }
}

void Threads::run(std::span<const Device> devices, const char* caller,
                  const std::function<void(size_t)>& task) {
  start(devices.size());
  Shared& shared = *shared_;
  {
    const std::lock_guard lock(shared.mutex);
    shared.errors.assign(devices.size(), nullptr);
    shared.task = &task, shared.modes = ThreadModes();
    shared.count = devices.size(), shared.busy = devices.size() - 1;
    ++shared.round;
  }
  if (devices.size() > 1) shared.work.notify_all();
  shared.attempt(0);
  {
    std::unique_lock lock(shared.mutex);
    shared.done.wait(lock, [&] { return shared.busy == 0; });
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::exception_ptr error = std::exchange(shared.errors[i], nullptr);
    if (!error) continue;
    shared.errors.clear();
    try {
      std::rethrow_exception(error);
    } catch (...) {
      rethrow_with(std::string(caller) + ": replica " + std::to_string(i) + " on " + to_string(devices[i]) +
                   ": ");
    }
  }
}

}  // namespace tern::nn::parallel::detail
