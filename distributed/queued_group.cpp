#include <tern/core/profile.h>
#include <tern/distributed/queued_group.h>

#include <exception>
#include <utility>

namespace tern::distributed {

class QueuedGroup::QueuedWork final : public Work {
 public:
  QueuedWork(Call what, int64_t place, Body todo) : call(what), number(place), body(std::move(todo)) {}

  void wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
    if (error_) std::rethrow_exception(error_);
  }

  bool is_completed() const override {
    const std::lock_guard lock(mutex_);
    return done_;
  }

  void finish(std::exception_ptr error) {
    body = nullptr;  // its tensors
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    done_ = true;
    changed_.notify_all();
  }

  const Call call;
  const int64_t number;
  Body body;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
};

namespace {

class CompletedWork final : public Work {
 public:
  void wait() override {}
  bool is_completed() const override { return true; }
};

std::shared_ptr<Work> completed_work() {
  static const std::shared_ptr<Work> work = std::make_shared<CompletedWork>();
  return work;
}

}  // namespace

struct QueuedGroup::Lane {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<QueuedWork>> queue;
  bool busy = false;  // a call is running
  int64_t next = 0;   // sequence number
  std::thread thread;
};

QueuedGroup::QueuedGroup(int rank, int size, const ProcessGroupOptions& options)
    : ProcessGroup(rank, size, options) {}

QueuedGroup::~QueuedGroup() = default;

QueuedGroup::Lane& QueuedGroup::lane_of(const Call& call) {
  const std::string_view operation = call.operation;
  const bool is_send = operation == "send";
  const int peer = is_send || operation == "recv" ? call.root : -1;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Lane>& lane = lanes_[{peer, is_send}];
  if (!lane) lane = std::make_unique<Lane>();
  return *lane;
}

std::shared_ptr<Work> QueuedGroup::start(Call call, bool async, Body body) {
  Lane& lane = lane_of(call);
  std::unique_lock lock(lane.mutex);
  call.sequence = lane.next++;
  call.is_compared = compares_calls();
  const int64_t number = log_.add(call);
  if (!async && lane.queue.empty() && !lane.busy) {
    lane.busy = true;
    lock.unlock();
    const std::exception_ptr error = run(call, number, body);
    lock.lock();
    lane.busy = false;
    if (!lane.queue.empty()) lane.changed.notify_one();
    if (error) std::rethrow_exception(error);
    return completed_work();
  }
  if (!lane.thread.joinable()) lane.thread = std::thread([this, &lane] { serve(lane); });
  const auto work = std::make_shared<QueuedWork>(call, number, std::move(body));
  lane.queue.push_back(work);
  lock.unlock();
  lane.changed.notify_one();
  if (!async) work->wait();
  return work;
}

void QueuedGroup::serve(Lane& lane) {
  name_this_thread("process group", rank());
  std::unique_lock lock(lane.mutex);
  while (true) {
    lane.changed.wait(lock, [&] { return !lane.busy && (stopping_ || !lane.queue.empty()); });
    if (lane.queue.empty()) return;
    const std::shared_ptr<QueuedWork> work = lane.queue.front();
    lane.queue.pop_front();
    lane.busy = true;
    lock.unlock();
    work->finish(run(work->call, work->number, work->body));
    lock.lock();
    lane.busy = false;
  }
}

std::exception_ptr QueuedGroup::run(const Call& call, int64_t number, const Body& body) noexcept {
  const OperationScope scope(call.operation);
  log_.set(number, CallState::running);
  try {
    throw_if_broken();
    body(call);
    log_.set(number, CallState::completed);
    return nullptr;
  } catch (...) {
    log_.set(number, CallState::failed);
    return broken_by(call);
  }
}

void QueuedGroup::throw_if_broken() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) throw DistributedError(*failure_);
  }
  check_as<DistributedError>(!stopping_, "group '", name(), "' was destroyed while calls were waiting");
  if (const std::optional<std::string> text = failure_elsewhere()) throw DistributedError(*text);
}

// Called while the exception is handled.
std::exception_ptr QueuedGroup::broken_by(const Call& call) {
  std::string message;
  try {
    throw;
  } catch (const DistributedError& error) {
    message = error.what();
  } catch (const std::exception& error) {
    std::ostringstream text;
    text << call << " of group '" << name() << "' failed on " << list_of({rank()}) << ": " << error.what();
    message = text.str();
  }
  std::unique_lock lock(mutex_);
  if (!failure_) {
    lock.unlock();
    message = spread_failure(call, message);
    lock.lock();
    if (!failure_) failure_ = message;
  }
  return std::make_exception_ptr(DistributedError(*failure_));
}

std::string QueuedGroup::spread_failure(const Call&, const std::string& message) { return message; }

std::string QueuedGroup::list_of(const std::vector<int>& members) const {
  std::string text = members.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < members.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(ranks()[static_cast<size_t>(members[i])]);
  }
  return text;
}

void QueuedGroup::stop() {
  stopping_ = true;
  interrupt();
  std::vector<Lane*> lanes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, lane] : lanes_) lanes.push_back(lane.get());
  }
  for (Lane* lane : lanes) {
    { const std::lock_guard lock(lane->mutex); }
    lane->changed.notify_all();
    if (lane->thread.joinable()) lane->thread.join();
  }
}

}  // namespace tern::distributed
