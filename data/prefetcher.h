// The worker threads of a loader, and the ring of slots between them and the loop.
//
// Workers take batches in order and write batch b into slot b modulo the ring's size; they wait when the slot
// still holds a batch that the loop has not left. The ring holds num_workers x prefetch_factor batches and
// the one that the loop works on, or as many as the pass has when those are fewer. Threads live from epoch to
// epoch. A thread that hangs in a dataset is left behind when a time-out is set: it keeps what it needs
// alive, and ends when the dataset lets it go.
#pragma once

#include <tern/data/loader_core.h>

#include <mutex>
#include <thread>
#include <vector>

namespace tern::data::detail {

inline constexpr int no_worker = -1;

/// Loads one batch into `slot`. An error becomes one of the same type (IoError stays IoError; what is no
/// Error becomes Error) whose text begins with the sample and the worker, and which nests the original.
void load_slot(Slot& slot, const Load& load, std::span<const int64_t> indices, RandomKey key, int worker,
               const std::atomic<bool>* cancelled);

class Prefetcher {
 public:
  /// `plan` is read at the beginning of each pass. Throws Error, and ends the workers that have started, when
  /// the system refuses one.
  Prefetcher(Load load, const Plan& plan, const DataLoaderOptions& options);
  /// Cancels and joins. When a time-out is set, waits no longer than it.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Starts a pass over the plan's batches first, …, end - 1. No worker may be busy.
  void begin(int64_t first, int64_t end);
  /// Waits for batch `number` and moves it to `batch`; the slot of the one before is free from now on. Throws
  /// what loading it threw, or Error after the time-out.
  void take(int64_t number, Tensors& batch);
  /// Takes back all work that is not needed any more, without waiting.
  void cancel();
  /// Waits until no worker is busy: at most one sample's time after cancel(). Throws Error after the
  /// time-out.
  void wait_until_idle();
  /// True after a time-out: the workers cannot be used again.
  bool is_stuck() const { return stuck_; }

 private:
  struct Shared;
  static void work(Shared& shared, int worker);
  void start(int workers);
  void stop();
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, Done done) const;

  const Plan& plan_;
  double timeout_;  // 0: none
  int64_t most_slots_;
  bool stuck_ = false;
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace tern::data::detail
