// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
#pragma once

#include <tern/optim/adam.h>

namespace tern::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;

  static constexpr const char* name = "AdamW";
  static constexpr bool decoupled = true;
  /// Throws Error for negative numbers and for betas outside [0, 1).
  void validate() const;
  void visit(StateVisitor& visitor);
};

/// PyTorch's AdamW: Adam in which weight decay leaves the gradient alone; p *= 1 - lr weight_decay before.
using AdamW = AdamOf<AdamWOptions>;

}  // namespace tern::optim
