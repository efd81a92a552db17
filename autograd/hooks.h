// What is called when a leaf's gradient is complete. Internal to autograd.
#pragma once

#include <tern/autograd/backward_observer.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tern::detail {

/// The hooks of one leaf, and how often the walk that is under way will still write its gradient.
class LeafHooks : public RefCounted {
 public:
  int64_t add(std::function<void(const Tensor&)> hook);
  void remove(int64_t id);
  /// The walk has found a use of the leaf. Returns whether it is the first.
  bool expect_use(uint64_t walk);
  /// A use has been dealt with; after the last one the hooks are called if there is a gradient.
  void use_done(uint64_t walk, const Tensor& leaf);

  BackwardObserver* observer = nullptr;
  size_t number = 0;  ///< the observer's name for the leaf

 private:
  std::vector<std::pair<int64_t, std::function<void(const Tensor&)>>> hooks_;
  int64_t next_id_ = 0;
  uint64_t walk_ = 0;
  int64_t uses_left_ = 0;
};

LeafHooks& hooks_of(TensorImpl& leaf);

}  // namespace tern::detail
