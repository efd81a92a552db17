// Gradients of recorded operations.
//
// backward() and grad() walk the graph from the result on the calling thread, the last recorded operation
// first: the order, and with it every bit of the result, depends on the program alone. Operations that were
// walked give up what they kept. Several threads may walk at the same time as long as their graphs share only
// leaves of their own. A graph may lead over several devices, and may have been recorded by several threads:
// each gradient lies on the device of its tensor, and the same thread walks all of it, so that sums do not
// depend on which device was faster.
#pragma once

#include <tern/core/tensor.h>

#include <functional>
#include <vector>

namespace tern {

struct BackwardOptions {
  /// The gradient of the result; by default 1, for a result with one element.
  Tensor gradient = {};
  /// Keeps the graph, so that it can be walked again.
  bool retain_graph = false;
  /// Second derivatives: not supported, true throws Error.
  bool create_graph = false;
};

/// Adds the gradient of `result` to grad() of every leaf that requires one. The first write creates the
/// gradient (with the strides of its tensor), later ones add. Throws Error when `result` requires no
/// gradient, has several elements and no gradient is given, or when the graph has been walked before without
/// retain_graph.
void backward(const Tensor& result, const BackwardOptions& options = {});

struct GradOptions {
  Tensor gradient = {};       ///< as in BackwardOptions
  bool retain_graph = false;  ///< as in BackwardOptions
  bool create_graph = false;  ///< as in BackwardOptions
  /// An input that `result` does not depend on gets an undefined gradient instead of an Error.
  bool allow_unused = false;
};

/// The gradients of `result` with respect to `inputs` (leaves or results of recorded operations); grad() of
/// no tensor changes.
std::vector<Tensor> grad(const Tensor& result, const std::vector<Tensor>& inputs,
                         const GradOptions& options = {});

/// Calls `hook(leaf)` in each backward() when the gradient of `leaf` is complete, while the rest of the walk
/// goes on. Hooks are called in the order of registration. Returns an id for remove_hook(). Throws Error when
/// `leaf` is not a leaf that requires a gradient, and for an empty function.
int64_t register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook);

/// Forgets the hook of that id; nothing happens when it is gone already.
void remove_hook(const Tensor& leaf, int64_t id);

/// The name of the operation whose gradient the calling thread computes; "backward" outside.
const char* running_backward_of();

}  // namespace tern
