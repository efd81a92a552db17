// The process group of ranks on one host: pieces of tensors go through memory that all of them see.
//
// All collectives proceed in steps. In each, a rank writes a piece into its slot, posts that, waits until all
// have posted, and reads the others' slots. Slots alternate: when all have posted step s + 1, all have read
// what was written in step s, and its slot is free for step s + 2. What each rank called is compared in a
// call's first step, which costs next to nothing here.
#pragma once

#include <tern/distributed/queued_group.h>
#include <tern/distributed/segment.h>

#include <algorithm>
#include <cstring>

namespace tern::distributed {

class SharedMemoryGroup final : public QueuedGroup {
 public:
  /// Every rank has opened `segment`, and entered it. Options as checked by make_process_group().
  SharedMemoryGroup(std::unique_ptr<Segment> segment, int rank, int size, const ProcessGroupOptions& options);
  ~SharedMemoryGroup() override;

  std::string_view transport() const override { return "shared memory"; }
  void all_reduce(const Call& call, const Tensor& x) override;
  void reduce(const Call& call, const Tensor& x) override;
  void broadcast(const Call& call, const Tensor& x) override;
  void all_gather(const Call& call, const Tensor& out, const Tensor& x) override;
  void gather(const Call& call, const Tensor& out, const Tensor& x) override;
  void scatter(const Call& call, const Tensor& x, const Tensor& rows) override;
  void reduce_scatter(const Call& call, const Tensor& x, const Tensor& rows) override;
  void all_to_all(const Call& call, const Tensor& out, const Counts& out_counts, const Tensor& x,
                  const Counts& in_counts) override;
  void send(const Call& call, const Tensor& x) override;
  void recv(const Call& call, const Tensor& x) override;

 private:
  /// One call under way.
  struct Turn {
    const Call& call;
    std::chrono::steady_clock::time_point deadline;
    bool is_first = true;
  };

  std::optional<std::string> failure_elsewhere() override { return segment_->failure(); }
  std::string spread_failure(const Call& call, const std::string& message) override;

  Turn begin(const Call& call) const;
  template <class Write, class Read>
  void step(Turn& turn, const Write& write, const Read& read);
  /// Steps for the pieces of `total` bytes, of at most `share` bytes each, and for an empty one if there are
  /// none: calls write(done, bytes) and read(done, bytes).
  template <class Write, class Read>
  void steps(const Call& call, size_t total, size_t share, const Write& write, const Read& read);
  void wait(const Turn& turn, Signal& signal, uint32_t target, int peer);
  void wait_long(const Turn& turn, Signal& signal, uint32_t target, int peer);
  void check_alive(const Turn& turn, const Signal& signal, uint32_t target, int peer);
  [[noreturn]] void fail(const Turn& turn, const std::string& reason) const;
  std::string missing(const Signal& signal, int peer) const;
  void compare();

  void reduce_directly(const Call& call, const Tensor& x);
  void reduce_in_sections(const Call& call, const Tensor& x);
  void reduce_section(const Call& call, DType dtype, char* section, size_t start, size_t bytes);
  int64_t agree_on_counts(Turn& turn, const Counts& out_counts, const Counts& in_counts);
  std::string wrong_counts() const;

  char* slot(int r) const { return segment_->slot(r, step_); }
  /// Bytes of a slot's share for each rank.
  size_t share() const { return Segment::slot_bytes / static_cast<size_t>(size()) / 64 * 64; }

  std::unique_ptr<Segment> segment_;
  uint32_t step_ = 0;  // of collectives, which run one at a time
  bool may_spin_;
};

template <class Write, class Read>
void SharedMemoryGroup::step(Turn& turn, const Write& write, const Read& read) {
  ++step_;
  Member& self = segment_->member(rank());
  write();
  if (turn.is_first) self.calls[step_ & 1] = to_wire(turn.call);
  self.posted.raise_to(step_);
  for (int r = 0; r < size(); ++r)
    if (r != rank()) wait(turn, segment_->member(r).posted, step_, r);
  if (turn.is_first) compare();
  turn.is_first = false;
  read();
}

template <class Write, class Read>
void SharedMemoryGroup::steps(const Call& call, size_t total, size_t share, const Write& write,
                              const Read& read) {
  Turn turn = begin(call);
  size_t done = 0;
  do {
    const size_t bytes = std::min(total - done, share);
    step(
        turn, [&] { write(done, bytes); }, [&] { read(done, bytes); });
    done += bytes;
  } while (done < total);
}

}  // namespace tern::distributed
