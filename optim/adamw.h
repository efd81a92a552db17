// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/optimizer.h>

namespace tern::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
};

/// PyTorch's AdamW: p *= 1 - lr weight_decay; m and v are the running means of the gradient and of its
/// square; p -= lr m' / (sqrt(v') + eps) with the bias-corrected m', v' (with amsgrad the largest v' so far).
class AdamW : public Optimizer {
 public:
  /// Throws Error for negative numbers and for betas outside [0, 1).
  explicit AdamW(const std::vector<Tensor>& params, const AdamWOptions& options = {});
  explicit AdamW(const std::vector<ParamGroup<AdamWOptions>>& groups);

  void step() override;
  size_t num_groups() const override { return groups_.size(); }
  double lr(size_t group = 0) const override { return groups_[checked(group)].options.lr; }
  using Optimizer::set_lr;
  void set_lr(double lr, size_t group) override { options(group).lr = lr; }
  /// The options of a group, which may be changed between steps.
  AdamWOptions& options(size_t group = 0) { return groups_[checked(group)].options; }

 protected:
  void check_options(size_t group) const override;
  void visit_options(size_t group, StateVisitor& visitor) override;
  void visit_state(size_t i, StateVisitor& visitor) override;

 private:
  struct Group {
    size_t begin, end;  // of parameters_
    AdamWOptions options;
  };
  struct State {
    int64_t step = 0;
    Tensor mean, square, max_square;
  };

  kernels::AdamwEntry next_entry(size_t i, const AdamWOptions& options);

  std::vector<Group> groups_;
  std::vector<State> state_;
  std::vector<kernels::AdamwEntry> entries_;  // kept for its memory
};

}  // namespace tern::optim
