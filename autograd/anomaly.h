// Finding the operation whose gradient is not a number.
//
//   {
//     AnomalyGuard anomaly;
//     backward(loss);   // Error: "backward of log gave NaN ... its result went into mul, sum"
//   }
//
// As torch.autograd.detect_anomaly; it costs a pass over every gradient.
#pragma once

#include <tern/autograd/node.h>

#include <vector>

namespace tern {

/// True on threads (false at the start) whose walks look for NaN.
bool is_anomaly_detected();

/// While it lives, backward() and grad() on this thread throw Error as soon as an operation makes a NaN in
/// the gradient of an input, and name the operation, the input and the operations that its result went into.
class AnomalyGuard {
 public:
  explicit AnomalyGuard(bool enabled = true);
  ~AnomalyGuard();
  AnomalyGuard(const AnomalyGuard&) = delete;
  AnomalyGuard& operator=(const AnomalyGuard&) = delete;

 private:
  bool before_;
};

namespace detail {
/// Throws Error when a wanted one of `gradients`, which `node` has just returned, holds a NaN. `nodes` are
/// all of the walk, the last recorded first.
void check_gradients(const Node& node, const Gradients& gradients, Wants wants,
                     const std::vector<Node*>& nodes);
}  // namespace detail

}  // namespace tern
