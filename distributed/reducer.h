// What DistributedDataParallel and Join are made of: buckets of gradients, reduced while backward goes on.
// Users meet it only through them.
#pragma once

#include <tern/autograd/backward_observer.h>
#include <tern/distributed/bucket_plan.h>
#include <tern/distributed/comm_hooks.h>
#include <tern/nn/module.h>

#include <memory>
#include <optional>
#include <string>
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
  /// This rank is at the end of its data: does its part in what the others do until all are, then takes over
  /// the weights and buffers of the last rank that trained. Returns that rank's number in the group; -1 when
  /// none did.
  int shadow();

 private:
  struct Bucket {
    Tensor buffer;
    std::vector<size_t> parameters;
    size_t missing = 0;  // gradients that are not complete
    std::shared_ptr<distributed::Work> work;
  };
  struct Parameter {
    std::string name;
    Tensor tensor, slot;
    size_t bucket;
    Layout layout;
    DType dtype;
  };
  struct JoinState {
    bool divide_by_world, throw_when_joined;
    std::vector<int> present;  // when ranks last met
  };

  bool is_alone() const { return group()->size() == 1; }
  void note_members(Module& module);
  void make_buckets(const std::vector<size_t>& order);
  void move_to_slot(Parameter& parameter);
  void fill_rest_of(const Parameter& parameter);
  void check_unchanged(Module& module) const;
  void broadcast_buffers(int root);

  void meet(RankState state);
  void start_pass(const std::vector<bool>& reached);
  void refuse_unused(const std::vector<bool>& reached);
  void refuse_other_graph(const std::vector<bool>& reached);
  void mark_complete(size_t parameter);
  void launch_ready();
  void finish_pass();
  void adopt_gradients();
  void adopt_order();
  void break_group(const std::string& message);
  int first_present() const { return join_ ? join_->present.front() : 0; }
  std::string list(const std::vector<size_t>& parameters) const;

  DistributedDataParallelOptions options_;
  CommHook hook_ = allreduce_hook;
  bool has_own_hook_ = false;
  std::vector<Parameter> parameters_;  // those that require a gradient
  std::vector<Tensor> members_;        // all parameters and buffers as the module shows them, ties again
  std::vector<Tensor> frozen_;
  std::vector<Tensor> buffers_;
  std::vector<Tensor> flat_buffers_;  // one per dtype of buffers_
  std::vector<Bucket> buckets_;

  // Of the backward pass under way.
  bool sync_ = true, is_reducing_ = false, is_shadow_ = false;
  size_t next_bucket_ = 0;      // to be reduced
  std::vector<bool> present_;   // has a gradient here
  Tensor used_;                 // uint8 per parameter: whether any rank has a gradient
  std::shared_ptr<distributed::Work> used_work_;
  std::vector<size_t> order_;   // in which gradients came

  bool is_first_pass_ = true, compared_before_ = false;
  std::vector<bool> first_reached_;  // by the first pass, for static_graph
  std::optional<JoinState> join_;
};

}  // namespace tern::nn::parallel
