// Adagrad (Duchi, Hazan and Singer, 2011).
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/grouped.h>

namespace tern::optim {

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;               ///< L2: added to the gradient
  double initial_accumulator_value = 0;  ///< what a parameter's sum starts from in its first step
  double eps = 1e-10;
  bool maximize = false;

  /// Throws Error for negative numbers.
  void validate() const;
  void visit(StateVisitor& visitor);
};

struct AdagradState {
  int64_t step = 0;
  Tensor sum;
  void visit(StateVisitor& visitor);
};

/// PyTorch's Adagrad: g = gradient + weight_decay p; sum += g^2; p -= lr / (1 + (step - 1) lr_decay) g /
/// (sqrt(sum) + eps).
class Adagrad : public GroupedOptimizer<AdagradOptions, AdagradState> {
 public:
  using GroupedOptimizer::GroupedOptimizer;
  void step() override;

 private:
  std::vector<kernels::AdagradEntry> entries_;
};

}  // namespace tern::optim
