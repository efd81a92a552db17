#include <tern/autograd/backward.h>
#include <tern/autograd/hooks.h>

#include <algorithm>

namespace tern {
namespace detail {

LeafHooks& hooks_of(TensorImpl& leaf) { return static_cast<LeafHooks&>(*leaf.hooks); }

int64_t LeafHooks::add(std::function<void(const Tensor&)> hook) {
  hooks_.emplace_back(next_id_, std::move(hook));
  return next_id_++;
}

void LeafHooks::remove(int64_t id) {
  std::erase_if(hooks_, [id](const auto& entry) { return entry.first == id; });
}

bool LeafHooks::expect_use(uint64_t walk) {
  const bool is_first = std::exchange(walk_, walk) != walk;
  if (is_first) uses_left_ = 0;
  ++uses_left_;
  return is_first;
}

void LeafHooks::use_done(uint64_t walk, const Tensor& leaf) {
  if (walk_ != walk || --uses_left_ > 0) return;
  walk_ = 0;
  if (leaf.grad().defined()) {
    for (size_t i = 0; i < hooks_.size(); ++i) hooks_[i].second(leaf);
  }
  if (observer) observer->complete(number);
}

namespace {

LeafHooks& made_hooks_of(const Tensor& leaf) {
  if (!leaf.impl()->hooks) leaf.impl()->hooks = make_ref<LeafHooks>();
  return hooks_of(*leaf.impl());
}

}  // namespace
}  // namespace detail

int64_t register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook) {
  check(leaf.is_leaf() && leaf.requires_grad(),
        "register_post_accumulate_grad_hook: needs a leaf that requires a gradient");
  check(hook, "register_post_accumulate_grad_hook: the hook is empty");
  return detail::made_hooks_of(leaf).add(std::move(hook));
}

void remove_hook(const Tensor& leaf, int64_t id) {
  if (leaf.impl()->hooks) detail::hooks_of(*leaf.impl()).remove(id);
}

void observe_backward(const Tensor& leaf, BackwardObserver* observer, size_t number) {
  if (!observer && !leaf.impl()->hooks) return;
  check(leaf.is_leaf() && (leaf.requires_grad() || !observer),
        "observe_backward: needs a leaf that requires a gradient");
  detail::LeafHooks& hooks = detail::made_hooks_of(leaf);
  check(!observer || !hooks.observer, "observe_backward: the leaf is observed already");
  hooks.observer = observer;
  hooks.number = number;
}

bool is_observed(const Tensor& leaf) { return leaf.impl()->hooks && detail::hooks_of(*leaf.impl()).observer; }

}  // namespace tern
