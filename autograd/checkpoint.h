// Activation checkpointing: memory for time. Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear
// memory cost" (2016).
//
//   const Tensor y = checkpoint([&](const Tensor& x) { return block(x); }, x);
//
// What the operations inside keep for backward is dropped after the forward pass; backward runs the function
// again to get it back.
#pragma once

#include <tern/autograd/node.h>

#include <concepts>
#include <functional>
#include <vector>

namespace tern {

/// What a checkpoint runs, twice: it must compute the same both times.
using CheckpointFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// function(inputs), with its gradients: those of the inputs, and of all that the function uses besides
/// (parameters, results of earlier operations). Random numbers are replayed: the second run draws from each
/// generator what the first drew, and they go on as if there had been one run; those that the function
/// does not make itself must live until then. Layers that keep statistics of what they saw leave
/// them alone in the second (is_recomputing()). Does nothing special while recording is off. Backward throws
/// Error when the second run gives another shape, and when an input or a leaf that the function uses was
/// changed in between.
Tensor checkpoint(CheckpointFunction function, const std::vector<Tensor>& inputs);

/// The same for a function of one tensor or several.
template <class Function, std::convertible_to<Tensor>... Inputs>
requires std::invocable<Function, const Inputs&...> Tensor checkpoint(Function function,
                                                                      const Inputs&... inputs) {
  return checkpoint(
      [function = std::move(function)](const std::vector<Tensor>& list) mutable {
        return [&]<size_t... I>(std::index_sequence<I...>) { return function(list[I]...); }
        (std::index_sequence_for<Inputs...>());
      },
      std::vector<Tensor>{inputs...});
}

/// Whether this thread is in the second run of a checkpoint's function.
bool is_recomputing();

/// Says so of the calling thread until it goes out of scope: for threads that work for one that is.
class RecomputingGuard {
 public:
  explicit RecomputingGuard(bool recomputing = true);
  ~RecomputingGuard();
  RecomputingGuard(const RecomputingGuard&) = delete;
  RecomputingGuard& operator=(const RecomputingGuard&) = delete;

 private:
  bool before_;
};

}  // namespace tern
