// The process group of one rank: nothing to wait for, nothing to reduce; results are copies.
#pragma once

#include <tern/distributed/combine.h>
#include <tern/distributed/queued_group.h>

namespace tern::distributed {

class SingleGroup final : public QueuedGroup {
 public:
  explicit SingleGroup(const ProcessGroupOptions& options) : QueuedGroup(0, 1, options) {}
  ~SingleGroup() override { stop(); }

  std::string_view transport() const override { return "none"; }
  void all_reduce(const Call&, const Tensor&) override {}
  void reduce(const Call&, const Tensor&) override {}
  void broadcast(const Call&, const Tensor&) override {}
  void all_gather(const Call&, const Tensor& out, const Tensor& x) override { copy(x, out); }
  void gather(const Call&, const Tensor& out, const Tensor& x) override { copy(x, out); }
  void scatter(const Call&, const Tensor& x, const Tensor& rows) override { copy(rows, x); }
  void reduce_scatter(const Call&, const Tensor& x, const Tensor& rows) override { copy(rows, x); }
  void all_to_all(const Call& call, const Tensor& out, const Counts& out_counts, const Tensor& x,
                  const Counts& in_counts) override {
    check(out_counts == in_counts, call.operation, ": rank ", ranks()[0], " sends ", in_counts[0],
          " elements to itself, and expects ", out_counts[0]);
    copy(x, out);
  }
  void send(const Call& call, const Tensor&) override { no_peer(call); }
  void recv(const Call& call, const Tensor&) override { no_peer(call); }

 private:
  static void copy(const Tensor& x, const Tensor& out) {
    copy_bytes(bytes_of(out), bytes_of(x), size_in_bytes(x));
  }
  static void no_peer(const Call& call) { check(false, call.operation, ": there is no other rank"); }
};

}  // namespace tern::distributed
