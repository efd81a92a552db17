// What DistributedDataParallel and Join are made of: buckets of gradients, reduced while backward goes on.
// Users meet it only through them.
#pragma once

#include <tern/autograd/backward_observer.h>
#include <tern/distributed/comm_hooks.h>
#include <tern/distributed/same_on_all_ranks.h>
#include <tern/nn/module.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tern::nn::parallel {

struct DistributedDataParallelOptions {
  distributed::Group process_group = nullptr;  ///< the default group
  bool broadcast_buffers = true;               ///< rank 0's, before each forward pass that trains
  double bucket_cap_mb = 25;                   ///< MiB of gradients in a bucket; the first has at most 1
  /// Parameters may get no gradient on some ranks (they count as zero there) or on all (their gradients stay
  /// absent). Costs a message per backward. Without it such a parameter is an error.
  bool find_unused_parameters = false;
  /// The first backward shows which parameters get gradients on any rank, for good: unused ones without the
  /// message. An error when a later backward reaches others.
  bool static_graph = false;
};

/// What a rank is at when it meets the others.
enum class RankState : uint8_t { joined, forward, backward };

class Reducer final : public BackwardObserver {
 public:
  /// As the constructor of DistributedDataParallel says.
  Reducer(Module& module, const DistributedDataParallelOptions& options);
  ~Reducer() override;
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  void before_forward(Module& module);
  /// Returns what it was.
  bool set_sync(bool on) { return std::exchange(sync_, on); }
  void set_hook(CommHook hook);
  const distributed::Group& group() const { return options_.process_group; }

  /// Names of parameters in each bucket, in the order of reduction.
  std::vector<std::vector<std::string>> buckets() const;

  void begin(const std::vector<size_t>& leaves) override;
  void complete(size_t leaf) override;
  void end() override;
  void abandon() noexcept override;

  // For Join. From here to leave_join() ranks first tell each other where they are.
  void enter_join(bool divide_by_world, bool throw_when_joined);
  void leave_join() { join_.reset(); }
  bool is_joining() const { return join_.has_value(); }
  /// This rank is at the end of its data: does its part in what the others do until all are, then takes over
  /// the weights and buffers of the last rank that trained. Returns that rank's number in the group; -1 when
  /// none did.
  int shadow();

 private:
  struct Parameter {
    std::string name;
    Tensor tensor;
    Shape shape;
    DType dtype;
    Device device;
    Tensor slot = {};  // of a bucket
    size_t bucket = 0;
  };
  struct Bucket {
    Tensor buffer;
    std::vector<size_t> parameters;
    size_t missing = 0;  // gradients that are not complete
    std::shared_ptr<distributed::Work> work = nullptr;
  };
  // From its construction on parameters tell the reducer of backward passes.
  struct Observation {
    Observation(const std::vector<Parameter>& parameters, BackwardObserver* observer);
    ~Observation();
    std::vector<Tensor> leaves;
  };
  struct JoinState {
    bool divide_by_world, throw_when_joined;
    std::vector<int> present = {};  // when ranks last met
  };

  bool is_alone() const { return group()->size() == 1; }
  void check_same_on_all_ranks(Module& module) const;
  std::vector<Tensor> all_tensors() const;
  void check_unchanged(Module& module) const;
  void make_buckets(const std::vector<size_t>& order);
  std::vector<std::vector<size_t>> plan(const std::vector<size_t>& order) const;

  // A backward pass (reducer_pass.cpp).
  bool shows_unused() const;
  void check_graph(const std::vector<bool>& reached);
  void start_pass();
  void settle(Parameter& parameter);
  void launch_ready();
  void adopt_gradients();
  void adopt_order();
  void break_group(const std::string& message) const;
  std::string names(const std::vector<size_t>& parameters) const;

  // Ranks with different numbers of batches (reducer_join.cpp).
  RankState meet(RankState own);
  void shadow_backward();
  int first_present() const { return join_ ? join_->present.front() : 0; }

  DistributedDataParallelOptions options_;
  CommHook hook_;
  std::vector<Parameter> parameters_;  // those that require a gradient
  std::vector<Tensor> frozen_, buffers_;
  std::vector<Tensor> members_;  // all tensors of the module in its order, tied ones each time
  std::unique_ptr<Observation> observation_;
  distributed::FlatBroadcast buffer_broadcast_;
  std::vector<Bucket> buckets_;

  bool sync_ = true, is_first_pass_ = true;
  bool compares_otherwise_ = false;  // what the group did before the first pass
  std::vector<bool> graph_;          // which parameters the first pass reached
  std::optional<JoinState> join_;

  // Of the backward pass under way.
  bool is_reducing_ = false;
  size_t next_bucket_ = 0;     // to be reduced
  std::vector<bool> present_;  // which parameters will have a gradient on this rank
  Tensor used_;                // uint8: which have one on any rank
  std::shared_ptr<distributed::Work> used_work_;
  std::vector<size_t> order_;  // in which gradients came
};

}  // namespace tern::nn::parallel
