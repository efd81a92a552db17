// How an operation becomes differentiable, the library's own and a user's alike: compute the value, then
// record the gradient beside it.
//
//   // y = exp(x); dx = dy y.
//   Tensor my_exp(const Tensor& x) {
//     const OperationScope scope("my_exp");  // for profilers
//     const Tensor y = exp(x.detach());  // not recorded; kernels:: has functions that never are
//     return record("my_exp", y, {x}, [y = SavedTensor(y)](const Tensor& dy) -> Gradients {
//       return {dy * y.get()};
//     });
//   }
//
// The closure runs with recording switched off: there are no second derivatives, and asking for them is an
// error. Saved inputs keep what would let a later version add them. A gradient that is handed on may be
// shared (`return {dy, dy}`).
#pragma once

#include <tern/autograd/grad_mode.h>
#include <tern/autograd/node.h>
#include <tern/core/profile.h>

#include <concepts>
#include <optional>
#include <utility>

namespace tern {

/// A tensor kept for backward: its values, without its past, so that nothing is kept in a circle. A change in
/// place between keeping and using is an Error that names the operation, the shape and the versions.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& tensor) {
    if (tensor.defined()) tensor_ = tensor.detach(), version_ = tensor.version();
  }
  /// The tensor, undefined when an undefined one was kept.
  const Tensor& get() const {
    if (tensor_.defined() && tensor_.version() != version_) report_change();
    return tensor_;
  }

 private:
  [[noreturn]] void report_change() const;

  Tensor tensor_;
  uint64_t version_ = 0;
};

namespace detail {
template <class Closure>
class ClosureNode final : public Node {
 public:
  ClosureNode(const char* operation, const Tensor& output, Closure closure)
      : Node(operation, output), closure_(std::move(closure)) {}
  Gradients apply(const Tensor& dy, [[maybe_unused]] Wants wants) override {
    if constexpr (std::invocable<Closure&, const Tensor&, Wants>)
      return (*closure_)(dy, wants);
    else
      return (*closure_)(dy);
  }
  void release_saved() override { closure_.reset(); }
  bool released() const override { return !closure_; }

 private:
  std::optional<Closure> closure_;
};

template <class List>
bool any_requires_grad(const List& inputs) {
  for (const Tensor& input : inputs) {
    if (input.defined() && input.requires_grad()) return true;
  }
  return false;
}

void attach(const Tensor& output, const Ref<Node>& node);
void check_recordable(const char* operation, const Tensor& output);

template <class List, class Closure>
Ref<Node> make_node(const char* operation, const Tensor& output, const List& inputs, Closure&& closure) {
  auto node = make_ref<ClosureNode<std::decay_t<Closure>>>(operation, output, std::forward<Closure>(closure));
  for (const Tensor& input : inputs) node->inputs.push_back(edge_to(input));
  return node;
}
}  // namespace detail

/// Notes that `output`, a tensor just computed, came from `inputs` (undefined ones allowed) by `operation` (a
/// literal), and returns it. `closure` takes dy, the gradient of the output, and perhaps a `Wants`, and
/// returns a gradient per input. Does nothing when recording is off or no input requires a gradient.
template <class List = std::initializer_list<Tensor>, class Closure>
Tensor record(const char* operation, Tensor output, const List& inputs, Closure&& closure) {
  if (!is_grad_enabled() || !detail::any_requires_grad(inputs)) return output;
  detail::check_recordable(operation, output);
  detail::attach(output, detail::make_node(operation, output, inputs, std::forward<Closure>(closure)));
  return output;
}

/// Like record(), for an output that shares the memory of `base`.
template <class Closure>
Tensor record_view(const char* operation, Tensor output, const Tensor& base, Closure&& closure) {
  if (!is_grad_enabled() || !base.requires_grad()) return output;
  detail::check_recordable(operation, output);
  Ref<Node> node = detail::make_node(operation, output, std::initializer_list<Tensor>{base},
                                     std::forward<Closure>(closure));
  node->is_view = true;
  base.impl()->has_views.store(true, std::memory_order_relaxed);
  detail::attach(output, node);
  return output;
}

/// Throws Error when `x` must not be written in place by `operation`, which reads `source` (or nothing): an
/// expanded view (its elements share memory), and while recording a leaf that requires a gradient, a recorded
/// view, a tensor that has recorded views, and a tensor whose memory others share (a view or its base) when
/// the source brings a gradient that they would not learn of.
void check_writable(const char* operation, const Tensor& x, const Tensor& source = {});

/// Notes that `operation` has just changed `x` in place from its former value and `others`: like record(), it
/// keeps the gradient. The kernel that wrote has counted the change, or whoever wrote through data() has
/// called bump_version(). The closure returns the gradient of x's former value first.
template <class Closure>
void record_in_place(const char* operation, const Tensor& x, std::initializer_list<Tensor> others,
                     Closure&& closure) {
  InlineVector<Tensor, 3> inputs{x};
  for (const Tensor& other : others) inputs.push_back(other);
  if (!is_grad_enabled() || !detail::any_requires_grad(inputs)) return;
  detail::attach(x, detail::make_node(operation, x, inputs, std::forward<Closure>(closure)));
}

}  // namespace tern
