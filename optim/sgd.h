// Stochastic gradient descent.
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/grouped.h>

namespace tern::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  ///< L2: added to the gradient
  bool nesterov = false;
  bool maximize = false;

  /// Throws Error for negative numbers, and for nesterov without momentum or with dampening.
  void validate() const;
  void visit(StateVisitor& visitor);
};

struct SGDState {
  Tensor momentum;  // undefined before the first step
  void visit(StateVisitor& visitor) { visitor.tensor("momentum_buffer", momentum); }
};

/// PyTorch's SGD: g = gradient + weight_decay p; the buffer starts as the first g, then m = momentum m + (1 -
/// dampening) g; p -= lr m (with nesterov lr (g + momentum m)).
class SGD : public GroupedOptimizer<SGDOptions, SGDState> {
 public:
  using GroupedOptimizer::GroupedOptimizer;
  void step() override;

 private:
  std::vector<kernels::SgdEntry> entries_;
};

}  // namespace tern::optim
