// QueuedGroup: what backends on the CPU share. Calls run in order, their failures break the group, and a
// recorder keeps the last of them.
//
// A call runs on its caller's thread when it may: nothing else is queued, and the caller wants to wait. All
// others run on a worker thread, made at the first need. There is one queue for collectives and one for each
// direction of messages with each peer, so that a send and a receive that wait for each other both go on.
#pragma once

#include <tern/distributed/call_log.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

namespace tern::distributed {

class QueuedGroup : public ProcessGroup {
 public:
  bool serves(Device device) const override { return device.is_cpu(); }
  std::vector<CallRecord> recent_calls() const override { return log_.records(); }
  std::shared_ptr<Work> start(Call call, bool async, std::function<void(const Call&)> body) override;

 protected:
  QueuedGroup(int rank, int size, const ProcessGroupOptions& options);
  ~QueuedGroup() override;

  /// Ends the worker threads; what is still queued fails. Every derived class's destructor calls it first.
  void stop();
  bool is_stopping() const { return stopping_; }

  /// "rank 3", "ranks 0, 2": the job's ranks of these members, for messages.
  std::string list_of(const std::vector<int>& members) const;

  /// The error by which another rank broke the group, if one did; cheap.
  virtual std::optional<std::string> failure_elsewhere() { return std::nullopt; }
  /// Tells the other ranks that `call` failed here, with `message`. Returns the error that all ranks shall
  /// see: whichever rank failed first.
  virtual std::string spread_failure(const Call& call, const std::string& message);
  /// Makes what blocks in a body throw; is_stopping() is true.
  virtual void interrupt() {}

 private:
  class QueuedWork;
  struct Lane;
  using Body = std::function<void(const Call&)>;

  Lane& lane_of(const Call& call);
  void serve(Lane& lane);
  std::exception_ptr run(const Call& call, int64_t number, const Body& body) noexcept;
  void throw_if_broken();
  std::exception_ptr broken_by(const Call& call);

  CallLog log_;
  std::mutex mutex_;  // guards the two below
  std::map<std::pair<int, bool>, std::unique_ptr<Lane>> lanes_;
  std::optional<std::string> failure_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace tern::distributed
