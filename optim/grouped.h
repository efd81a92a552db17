// What an optimizer is made of: options with a learning rate, a state for each parameter, and a step.
//
// Options are an aggregate with `lr`, `void validate() const` (throws Error for what makes no sense) and
// `void visit(StateVisitor&)`; a State has `void visit(StateVisitor&)`.
#pragma once

#include <tern/core/profile.h>
#include <tern/optim/optimizer.h>

namespace tern::optim {

template <class Options, class State>
class GroupedOptimizer : public Optimizer {
 public:
  using GroupOptions = Options;

  /// Throws Error for options that make no sense, and as add_parameters() does.
  explicit GroupedOptimizer(const std::vector<Tensor>& params, const Options& options = {})
      : GroupedOptimizer(std::vector<ParamGroup<Options>>{{params, options}}) {}
  explicit GroupedOptimizer(const std::vector<ParamGroup<Options>>& groups) {
    check(!groups.empty(), "optimizer: needs at least one group of parameters");
    for (const auto& group : groups) {
      group.options.validate();
      const size_t begin = parameters_.size();
      add_parameters(group.params);
      groups_.push_back({begin, parameters_.size(), group.options});
    }
    state_.resize(parameters_.size());
  }

  size_t num_groups() const override { return groups_.size(); }
  double lr(size_t group = 0) const override { return groups_[checked(group)].options.lr; }
  using Optimizer::set_lr;
  void set_lr(double lr, size_t group) override { options(group).lr = lr; }
  /// The options of a group, which may be changed between steps.
  Options& options(size_t group = 0) { return groups_[checked(group)].options; }

 protected:
  /// Whether step() is to change parameter `i`.
  virtual bool is_stepped(size_t) const { return true; }

  void check_options(size_t group) const override { groups_[group].options.validate(); }
  void visit_options(size_t group, StateVisitor& visitor) override { groups_[group].options.visit(visitor); }
  void visit_state(size_t i, StateVisitor& visitor) override { state_[i].visit(visitor); }

  /// For each group: collects entry(parameter, gradient, its state, options) of the parameters that have a
  /// gradient, and calls run(entries, options). `entries` keeps its memory from step to step. Profiles show
  /// it as `name` (a literal) and ".step".
  template <class Entry, class Make, class Run>
  void step_groups(const char* name, std::vector<Entry>& entries, Make make, Run run) {
    const ProfileScope scope(name, ProfileKind::optimizer);
    entries.reserve(parameters_.size());
    for (const Group& group : groups_) {
      group.options.validate();
      entries.clear();
      for (size_t i = group.begin; i < group.end; ++i) {
        const Tensor gradient = is_stepped(i) ? parameters_[i].grad() : Tensor();
        if (gradient.defined()) entries.push_back(make(parameters_[i], gradient, state_[i], group.options));
      }
      run(entries, group.options);
      entries.clear();
    }
  }

 private:
  struct Group {
    size_t begin, end;  // of parameters_
    Options options;
  };

  std::vector<Group> groups_;
  std::vector<State> state_;  // per parameter
};

/// Throws Error naming `optimizer` and `option` unless value >= 0.
void check_not_negative(const char* optimizer, const char* option, double value);
/// Throws Error naming `optimizer` unless both are from 0 to below 1.
void check_betas(const char* optimizer, double beta1, double beta2);
/// `tensor`; where it is undefined, made zeros like `parameter` first.
const Tensor& zeros_once(Tensor& tensor, const Tensor& parameter);

}  // namespace tern::optim
