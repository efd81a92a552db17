// Adam (Kingma and Ba, arXiv:1412.6980), and what it shares with AdamW.
#pragma once

#include <tern/kernels/optimizer.h>
#include <tern/optim/grouped.h>

namespace tern::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2: added to the gradient
  bool amsgrad = false;
  bool maximize = false;

  static constexpr const char* name = "Adam";
  static constexpr bool decoupled = false;
  /// Throws Error for negative numbers and for betas outside [0, 1).
  void validate() const;
  void visit(StateVisitor& visitor);
};

struct AdamState {
  int64_t step = 0;
  Tensor mean, square, max_square;
  void visit(StateVisitor& visitor);
};

/// Adam for its own options or AdamW's.
template <class Options>
class AdamOf : public GroupedOptimizer<Options, AdamState> {
 public:
  using GroupedOptimizer<Options, AdamState>::GroupedOptimizer;
  void step() override;

 private:
  std::vector<kernels::AdamEntry> entries_;
};

/// PyTorch's Adam: g = gradient + weight_decay p; m and v are the running means of g and of its square; p -=
/// lr m' / (sqrt(v') + eps) with the bias-corrected m', v' (with amsgrad the largest v' so far).
using Adam = AdamOf<AdamOptions>;

}  // namespace tern::optim
