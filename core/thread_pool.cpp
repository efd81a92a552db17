#include <tern/core/thread_pool.h>

#include <tern/core/error.h>
#include <tern/core/profile.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

namespace tern {
namespace {

thread_local bool inside = false;  // this thread is running a block
thread_local int index_in_pool = 0;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Workers wait for a new job number: first they look for it in a short loop (a job often follows another),
// then they sleep.
constexpr int spins = 4000;

struct Job {
  int64_t count = 0, block = 0, blocks = 0;
  detail::BlockFunction call = nullptr;
  void* body = nullptr;
};

// Blocks are counted, not elements, and ends come from what is left: no sum leaves 64 bits near their end.
void call_block(const Job& job, int64_t number) {
  const int64_t begin = number * job.block;
  job.call(job.body, begin, begin + std::min(job.block, job.count - begin));
}

class Pool {
 public:
  explicit Pool(int threads) {
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::exception& error) {
      const size_t started = workers_.size() + 1;
      stop();
      throw Error("thread pool: the system gave " + std::to_string(started) + " of " +
                  std::to_string(threads) + " threads: " + error.what());
    }
  }
  ~Pool() { stop(); }
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  std::mutex busy;  // held by the thread whose work is running

  void run(const Job& job) {
    job_ = job;
    next_.store(0, std::memory_order_relaxed);
    error_ = nullptr;
    running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    {
      std::lock_guard lock(mutex_);
      number_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load(std::memory_order_seq_cst) > 0) wake_.notify_all();
    take_blocks();
    for (int spin = 0; running_.load(std::memory_order_acquire) > 0; ++spin) {
      if (spin < spins)
        pause();
      else
        std::this_thread::yield();
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      number_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void take_blocks() {
    inside = true;
    for (;;) {
      const int64_t block = next_.fetch_add(1, std::memory_order_relaxed);
      if (block >= job_.blocks) break;
      try {
        call_block(job_, block);
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        next_.store(job_.blocks, std::memory_order_relaxed);
      }
    }
    inside = false;
  }

  void wait_for_job(uint64_t seen) {
    for (int spin = 0; spin < spins; ++spin) {
      if (number_.load(std::memory_order_acquire) != seen) return;
      pause();
    }
    std::unique_lock lock(mutex_);
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    wake_.wait(lock, [&] { return number_.load(std::memory_order_acquire) != seen; });
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }

  void work(int index) {
    index_in_pool = index;
    name_this_thread("kernel thread", index);
    for (uint64_t seen = 0;; ++seen) {
      wait_for_job(seen);
      if (stopping_) return;
      {
        const ProfileScope scope("parallel_for", ProfileKind::threads);
        take_blocks();
      }
      running_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> number_{0};  // of the job that is or was running last
  std::atomic<int> running_{0}, sleeping_{0};
  std::atomic<int64_t> next_{0};  // block
  std::atomic<bool> stopping_{false};
  Job job_;
  std::exception_ptr error_;
};

int default_threads() {
  if (const char* text = std::getenv("TERN_NUM_THREADS"); text && *text) {
    int count = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), count);
    check(error == std::errc() && !*end && count >= 1 && count <= 1024,
          "TERN_NUM_THREADS must be a number from 1 to 1024, got \"", text, "\"");
    return count;
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return std::max(1, CPU_COUNT(&processors));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

struct Global {
  std::mutex mutex;
  std::shared_ptr<Pool> pool;
};

Global& global() {
  static Global instance;
  return instance;
}

std::shared_ptr<Pool> current_pool() {
  std::lock_guard lock(global().mutex);
  if (!global().pool) global().pool = std::make_shared<Pool>(default_threads());
  return global().pool;
}

}  // namespace

int get_num_threads() { return current_pool()->threads(); }

void set_num_threads(int count) {
  check(count >= 1 && count <= 1024, "set_num_threads: needs a number from 1 to 1024, got ", count);
  if (current_pool()->threads() == count) return;
  auto pool = std::make_shared<Pool>(count);
  std::lock_guard lock(global().mutex);
  global().pool = std::move(pool);
}

int thread_index() { return inside ? index_in_pool : 0; }

void detail::parallel_for(int64_t count, int64_t block, BlockFunction call, void* body) {
  check(block >= 1, "parallel_for: a block must have at least one element, got ", block);
  if (count <= 0) return;
  const Job job{count, block, (count - 1) / block + 1, call, body};
  if (!inside) {
    const std::shared_ptr<Pool> pool = current_pool();
    std::unique_lock lock(pool->busy, std::try_to_lock);
    if (pool->threads() > 1 && lock) return pool->run(job);
  }
  for (int64_t number = 0; number < job.blocks; ++number) call_block(job, number);
}

}  // namespace tern
