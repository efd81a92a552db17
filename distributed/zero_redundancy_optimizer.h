// ZeroRedundancyOptimizer: an optimizer whose state is shared out among the ranks (ZeRO stage 1, Rajbhandari
// et al., arXiv:1910.02054).
//
//   nn::DistributedDataParallel model(net);
//   optim::ZeroRedundancyOptimizer<optim::AdamW> optimizer(model.parameters(), {.lr = 1e-3});
//   …
//   optimizer.step();
//   …
//   optimizer.consolidate_state_dict();  // on all ranks
//   if (get_rank() == 0) train::save_checkpoint(path, net, optimizer, notes);
//
// Each rank keeps the state of its part of the parameters, updates these, and sends them to the others: N
// ranks need an N-th of the state's memory each. Every parameter is updated by the same kernel as without
// sharing, so weights have the same bits. All ranks call step() together, with the same gradients (those that
// DistributedDataParallel leaves); clipping before it sees whole gradients, as always.
//
// A saved state is the whole optimizer's, by the names and numbers of the optimizer without sharing: it loads
// into either, with any number of ranks. load_state_dict() takes the whole state on every rank, which keeps
// its part. Not among the `.optimizers` of a Join, which would have to know all states.
#pragma once

#include <tern/distributed/sharding.h>
#include <tern/optim/grouped.h>

namespace tern::optim {

struct ZeroRedundancyOptions {
  distributed::Group process_group = nullptr;  ///< null: the default group
};

/// As torch.distributed.optim.ZeroRedundancyOptimizer; `Base` (SGD, AdamW, …) is its optimizer_class. Whole
/// parameters are shared out, the largest first, each to the rank that has least.
template <class Base>
class ZeroRedundancyOptimizer : public Base {
 public:
  using Options = typename Base::GroupOptions;

  /// As Base's constructors. All ranks call it together with the same parameters in the same order. Throws
  /// Error without a group and, on every rank, when shapes or dtypes of the parameters differ.
  explicit ZeroRedundancyOptimizer(const std::vector<Tensor>& params, const Options& options = {},
                                   const ZeroRedundancyOptions& sharing = {})
      : Base(params, options), shards_(this->parameters_, sharing.process_group) {}
  explicit ZeroRedundancyOptimizer(const std::vector<ParamGroup<Options>>& groups,
                                   const ZeroRedundancyOptions& sharing = {})
      : Base(groups), shards_(this->parameters_, sharing.process_group) {}

  /// Base's step of this rank's parameters, then all ranks' parameters go to all. DistributedError as from
  /// any collective.
  void step() override {
    drop_others();
    Base::step();
    shards_.share(this->parameters_);
  }

  /// Brings the whole state to rank `to` of the job, until its next step(). All ranks call it.
  void consolidate_state_dict(int to = 0) {
    is_whole_ = shards_.collect(this->parameters_, to,
                                [this](size_t i, StateVisitor& visitor) { this->visit_state(i, visitor); });
  }

  /// The whole state. Throws Error where it is not: elsewhere than on the rank of consolidate_state_dict(),
  /// and after the next step().
  TensorMap state_dict() const override {
    check(is_whole_ || shards_.is_alone(),
          "ZeroRedundancyOptimizer: this rank has only a part of the state; ",
          "all ranks call consolidate_state_dict() first, and the one that it names saves");
    return Base::state_dict();
  }

  /// This rank's part of the state; rank 0's has the options of groups too. All ranks' parts together, which
  /// have no name in common, are the whole state.
  TensorMap local_state_dict() const {
    TensorMap state = Base::state_dict();
    std::erase_if(state, [this](const auto& entry) { return !shards_.saves(entry.first); });
    return state;
  }

  /// Takes the whole state, and keeps this rank's part.
  void load_state_dict(const TensorMap& state) override {
    Base::load_state_dict(state);
    drop_others();
  }

  /// Whether this rank updates parameter `i`, counted over all groups.
  bool owns(size_t i) const { return shards_.owns(i); }

 protected:
  bool is_stepped(size_t i) const override { return shards_.owns(i); }

 private:
  void drop_others() {
    detail::DropState drop;
    for (size_t i = 0; i < this->parameters_.size(); ++i) {
      if (!owns(i)) this->visit_state(i, drop);
    }
    is_whole_ = false;
  }

  detail::Shards shards_;
  bool is_whole_ = false;
};

}  // namespace tern::optim
