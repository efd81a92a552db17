#include <tern/data/prefetcher.h>

#include <tern/core/profile.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <string>
#include <utility>

namespace tern::data::detail {
namespace {

// Of a time-out in seconds; the end of a longer one could lie beyond the clock's range.
constexpr double longest = 1e9;

std::string place(int64_t sample, int worker) {
  std::string text = sample < 0 ? "before the first sample of a batch" : "sample " + std::to_string(sample);
  if (worker != no_worker) text += ", worker " + std::to_string(worker);
  return text;
}

}  // namespace

void load_slot(Slot& slot, const Load& load, std::span<const int64_t> indices, RandomKey key, int worker,
               const std::atomic<bool>* cancelled) {
  const ProfileScope scope("DataLoader load", ProfileKind::data);
  try {
    BatchWriter batch(slot, indices, key, cancelled);
    load(batch);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    slot.batch.clear();
    rethrow_with("DataLoader: " + place(slot.sample, worker) + ": ");
  }
}

struct Prefetcher::Shared {
  struct RingSlot : Slot {
    bool ready = false;
    int worker = no_worker;  // that has begun the batch
    std::exception_ptr error;
  };

  Load load;
  Plan plan;
  std::deque<RingSlot> ring;
  std::vector<char> ended;  // by worker
  std::atomic<bool> cancelled{false};

  std::mutex mutex;  // guards what follows, and ready, worker and error of the slots
  std::condition_variable work, progress;
  int64_t next = 0, end = 0;  // batches still to be taken by workers
  int64_t released = 0;       // batches that the loop has left
  int busy = 0;
  bool stopping = false;

  RingSlot& slot(int64_t number) { return ring[static_cast<size_t>(number) % ring.size()]; }
  bool has_work() const { return next < end && next < released + static_cast<int64_t>(ring.size()); }
};

void Prefetcher::work(Shared& shared, int worker) {
  name_this_thread("loader worker", worker);
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.work.wait(lock, [&] { return shared.stopping || shared.has_work(); });
    if (shared.stopping) break;
    const int64_t number = shared.next++;
    auto& slot = shared.slot(number);
    slot.worker = worker;
    ++shared.busy;
    lock.unlock();
    std::exception_ptr error;
    try {
      load_slot(slot, shared.load, shared.plan.batch(number), shared.plan.key, worker, &shared.cancelled);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    slot.error = std::move(error);
    slot.ready = true;
    --shared.busy;
    shared.progress.notify_all();
  }
  shared.ended[static_cast<size_t>(worker)] = 1;
  shared.progress.notify_all();
}

Prefetcher::Prefetcher(Load load, const Plan& plan, const DataLoaderOptions& options)
    : plan_(plan),
      timeout_(options.timeout > longest ? 0 : options.timeout),
      most_slots_(int64_t{options.num_workers} * options.prefetch_factor + 1),
      shared_(std::make_shared<Shared>()) {
  shared_->load = std::move(load);
  start(options.num_workers);
}

void Prefetcher::start(int workers) {
  auto& ended = shared_->ended;
  try {
    for (int i = 0; i < workers; ++i) {
      {
        std::lock_guard lock(shared_->mutex);
        ended.push_back(0);
      }
      threads_.emplace_back([shared = shared_, i] { work(*shared, i); });
    }
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    {
      std::lock_guard lock(shared_->mutex);
      ended.resize(threads_.size());
    }
    stop();
    check(false, "DataLoader: the system gave ", threads_.size(), " of ", workers, " workers: ", reason);
  }
}

Prefetcher::~Prefetcher() { stop(); }

void Prefetcher::stop() {
  cancel();
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->work.notify_all();
  const auto& ended = shared_->ended;
  if (stuck_) timeout_ = 0.1;  // it has been waited for already
  wait(lock, [&] { return std::find(ended.begin(), ended.end(), 0) == ended.end(); });
  const std::vector<char> joinable = ended;
  lock.unlock();
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (joinable[i])
      threads_[i].join();
    else
      threads_[i].detach();
  }
}

template <class Done>
bool Prefetcher::wait(std::unique_lock<std::mutex>& lock, Done done) const {
  if (timeout_ > 0) return shared_->progress.wait_for(lock, std::chrono::duration<double>(timeout_), done);
  shared_->progress.wait(lock, done);
  return true;
}

void Prefetcher::begin(int64_t first, int64_t end) {
  std::lock_guard lock(shared_->mutex);
  shared_->plan = plan_;
  const auto slots = static_cast<size_t>(std::clamp<int64_t>(plan_.batches, 1, most_slots_));
  if (shared_->ring.size() < slots) shared_->ring.resize(slots);
  for (auto& slot : shared_->ring) {
    slot.ready = false, slot.worker = no_worker, slot.error = nullptr;
    slot.batch.clear();
  }
  shared_->cancelled = false;
  shared_->next = shared_->released = first;
  shared_->end = end;
  shared_->work.notify_all();
}

void Prefetcher::take(int64_t number, Tensors& batch) {
  auto& slot = shared_->slot(number);
  std::unique_lock lock(shared_->mutex);
  if (number > shared_->released) {
    shared_->released = number;
    shared_->work.notify_one();
  }
  if (!wait(lock, [&] { return slot.ready; })) {
    stuck_ = true;
    check(false, "DataLoader: batch ", number, " did not come within the time-out of ", timeout_, " s: ",
          slot.worker == no_worker ? "no worker has begun it" : place(slot.sample, slot.worker) + " hangs");
  }
  slot.ready = false, slot.worker = no_worker;
  if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
  batch = std::move(slot.batch);
}

void Prefetcher::cancel() {
  std::lock_guard lock(shared_->mutex);
  shared_->end = shared_->next;
  shared_->cancelled = true;
}

void Prefetcher::wait_until_idle() {
  std::unique_lock lock(shared_->mutex);
  stuck_ = !wait(lock, [&] { return shared_->busy == 0; });
  check(!stuck_, "DataLoader: a worker has not left the sample of an earlier loop within the time-out of ",
        timeout_, " s");
}

}  // namespace tern::data::detail
