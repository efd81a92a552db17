// The part of ZeroRedundancyOptimizer that does not depend on the optimizer's type.
#pragma once

#include <tern/distributed/collectives.h>
#include <tern/optim/optimizer.h>

#include <functional>

namespace tern::optim::detail {

/// Makes what it is shown as it was before the first step.
class DropState : public StateVisitor {
 public:
  void number(const std::string&, double& value) override { value = 0; }
  void flag(const std::string&, bool& value) override { value = false; }
  void count(const std::string&, int64_t& value) override { value = 0; }
  void tensor(const std::string&, Tensor& value) override { value = Tensor(); }
};

/// Which rank updates which parameter. All ranks make it together, of the same parameters.
class Shards {
 public:
  /// `group` null: the default group. Error on every rank, naming the first difference, when shapes or dtypes
  /// differ.
  Shards(const std::vector<Tensor>& parameters, const distributed::Group& group);

  bool owns(size_t i) const { return owners_[i] == group_->rank(); }
  /// Whether the entry `name` of a whole state dict is in this rank's part of it.
  bool saves(const std::string& name) const;
  bool is_alone() const { return group_->size() == 1; }

  /// Sets each parameter to its owner's: a broadcast of flat memory from each rank and for each dtype.
  void share(const std::vector<Tensor>& parameters) const;

  using Visit = std::function<void(size_t, StateVisitor&)>;
  /// Sends to the job's rank `to` what the other ranks' visit(i, …) show of the state of their parameters.
  /// Returns whether this is that rank.
  bool collect(const std::vector<Tensor>& parameters, int to, const Visit& visit) const;

 private:
  distributed::Group group_;
  std::vector<int> owners_;  // a rank of the group for each parameter
};

}  // namespace tern::optim::detail
