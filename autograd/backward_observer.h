// Following each backward() that reaches certain leaves: what data-parallel training is built on.
#pragma once

#include <tern/core/tensor.h>

#include <vector>

namespace tern {

/// Called on the thread that runs backward(), in the order begin, complete…, then end or abandon. Only what
/// adds to grad() counts: grad() and the inside of a checkpoint are not seen.
class BackwardObserver {
 public:
  virtual ~BackwardObserver() = default;
  /// A backward() starts that will reach these leaves, by the numbers they were registered with, each once.
  virtual void begin(const std::vector<size_t>& leaves) = 0;
  /// This backward() will not write the gradient of that leaf any more. (It may not have written any.)
  virtual void complete(size_t leaf) = 0;
  /// All are complete, and all hooks were called. What it throws comes out of backward().
  virtual void end() = 0;
  /// Instead of end(): something threw.
  virtual void abandon() noexcept = 0;
};

/// `observer`, which outlives this, follows `leaf` under `number`; null: nobody does. Throws Error when
/// `leaf` is no leaf that requires a gradient, or when another observer follows it.
void observe_backward(const Tensor& leaf, BackwardObserver* observer, size_t number = 0);
/// Whether somebody follows `leaf`.
bool is_observed(const Tensor& leaf);

}  // namespace tern
