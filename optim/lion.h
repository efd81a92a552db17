// Lion (Chen et al., Symbolic Discovery of Optimization Algorithms, arXiv:2302.06675, algorithm 2).
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/grouped.h>

namespace tern::optim {

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;  ///< decoupled, as in AdamW
  bool maximize = false;

  /// Throws Error for negative numbers and for betas outside [0, 1).
  void validate() const;
  void visit(StateVisitor& visitor);
};

struct LionState {
  Tensor mean;
  void visit(StateVisitor& visitor) { visitor.tensor("exp_avg", mean); }
};

/// p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p); then m = beta2 m + (1 - beta2) g, from 0.
class Lion : public GroupedOptimizer<LionOptions, LionState> {
 public:
  using GroupedOptimizer::GroupedOptimizer;
  void step() override;

 private:
  std::vector<kernels::LionEntry> entries_;
};

}  // namespace tern::optim
