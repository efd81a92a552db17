// Stochastic gradient descent.
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/optimizer.h>

namespace tern::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  ///< L2: added to the gradient
  bool nesterov = false;
  bool maximize = false;
};

/// PyTorch's SGD: g = gradient + weight_decay p; the buffer starts as the first g, then m = momentum m + (1 -
/// dampening) g; p -= lr m (with nesterov lr (g + momentum m)).
class SGD : public Optimizer {
 public:
  /// Throws Error for negative numbers, and for nesterov without momentum or with dampening.
  explicit SGD(const std::vector<Tensor>& params, const SGDOptions& options = {});
  explicit SGD(const std::vector<ParamGroup<SGDOptions>>& groups);

  void step() override;
  size_t num_groups() const override { return groups_.size(); }
  double lr(size_t group = 0) const override { return groups_[checked(group)].options.lr; }
  using Optimizer::set_lr;
  void set_lr(double lr, size_t group) override { options(group).lr = lr; }
  /// The options of a group, which may be changed between steps.
  SGDOptions& options(size_t group = 0) { return groups_[checked(group)].options; }

 protected:
  void check_options(size_t group) const override;
  void visit_options(size_t group, StateVisitor& visitor) override;
  void visit_state(size_t i, StateVisitor& visitor) override;

 private:
  struct Group {
    size_t begin, end;  // of parameters_
    SGDOptions options;
  };

  std::vector<Group> groups_;
  std::vector<Tensor> momentum_;            // per parameter, undefined before its first step
  std::vector<kernels::SgdEntry> entries_;  // kept for its memory
};

}  // namespace tern::optim
