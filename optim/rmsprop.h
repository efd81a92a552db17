// RMSprop (Hinton, Neural Networks for Machine Learning, lecture 6e, 2012).
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/grouped.h>

namespace tern::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2: added to the gradient
  double momentum = 0;
  bool centered = false;
  bool maximize = false;

  /// Throws Error for negative numbers.
  void validate() const;
  void visit(StateVisitor& visitor);
};

struct RMSpropState {
  Tensor square, mean, momentum;
  void visit(StateVisitor& visitor);
};

/// PyTorch's RMSprop: g = gradient + weight_decay p; v is the running mean of its square, v = alpha v + (1 -
/// alpha) g^2, centered less the square of that of g (without the sign that rounding may give it, where
/// PyTorch's is NaN); p -= lr g / (sqrt(v) + eps), with momentum lr m, m = momentum m + g / (sqrt(v) + eps).
class RMSprop : public GroupedOptimizer<RMSpropOptions, RMSpropState> {
 public:
  using GroupedOptimizer::GroupedOptimizer;
  void step() override;

 private:
  std::vector<kernels::RmspropEntry> entries_;
};

}  // namespace tern::optim
