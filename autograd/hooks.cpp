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

void LeafHooks::expect_use(uint64_t walk) {
  if (std::exchange(walk_, walk) != walk) uses_left_ = 0;
  ++uses_left_;
}

void LeafHooks::use_done(uint64_t walk, const Tensor& leaf) {
  if (walk_ != walk || --uses_left_ > 0) return;
  walk_ = 0;
  if (!leaf.grad().defined()) return;
  for (size_t i = 0; i < hooks_.size(); ++i) hooks_[i].second(leaf);
}

}  // namespace detail

int64_t register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook) {
  check(leaf.is_leaf() && leaf.requires_grad(),
        "register_post_accumulate_grad_hook: needs a leaf that requires a gradient");
  check(hook, "register_post_accumulate_grad_hook: the hook is empty");
  if (!leaf.impl()->hooks) leaf.impl()->hooks = make_ref<detail::LeafHooks>();
  return detail::hooks_of(*leaf.impl()).add(std::move(hook));
}

void remove_hook(const Tensor& leaf, int64_t id) {
  if (leaf.impl()->hooks) detail::hooks_of(*leaf.impl()).remove(id);
}

}  // namespace tern
