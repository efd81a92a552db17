#include <tern/tests/simgpu/nccl/operation.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <thread>

namespace simgpu::nccl {
namespace {

/// Runs while communicators with several processes have work; ends with the process.
class Background {
 public:
  void add(const std::shared_ptr<Communicator>& comm) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { run(); });
      std::atexit([] { instance().stop(); });
    }
    if (std::find(comms_.begin(), comms_.end(), comm) == comms_.end()) comms_.push_back(comm);
    changed_.notify_all();
  }

  static Background& instance() {
    static auto* the_background = new Background;
    return *the_background;
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  /// Comes seldom, so that who synchronises soon decides the order of work himself.
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || !comms_.empty(); });
      changed_.wait_for(lock, std::chrono::milliseconds(20), [this] { return stopped_; });
      if (stopped_) return;
      std::erase_if(comms_, [](const auto& comm) {
        return comm->ended || (comm->outstanding == 0 && !comm->captured);
      });
      lock.unlock();
      for (int i = 0; i < 64; ++i) run_something();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Communicator>> comms_;
  std::thread thread_;
  bool stopped_ = false;
};

}  // namespace

void run_in_background(const std::shared_ptr<Communicator>& comm) { Background::instance().add(comm); }

}  // namespace simgpu::nccl
