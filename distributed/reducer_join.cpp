#include <tern/distributed/reducer.h>

#include <tern/kernels/fill.h>

namespace tern::nn::parallel {

using namespace distributed;

void Reducer::enter_join(bool divide_by_world, bool throw_when_joined) {
  check(!join_, "Join: there is one for this model already");
  if (!is_alone()) join_ = JoinState{divide_by_world, throw_when_joined};
}

// All ranks tell where they are. What this rank finds, all find.
RankState Reducer::meet(RankState own) {
  const Tensor state = empty({1}, uint8), states = empty({group()->size()}, uint8);
  *state.data<uint8_t>() = static_cast<uint8_t>(own);
  all_gather_into_tensor(states, state, {.group = group()});
  std::vector<int> present;
  std::string joined;
  RankState common = RankState::joined;
  for (int r = 0; r < group()->size(); ++r) {
    const auto other = static_cast<RankState>(states.data<uint8_t>()[r]);
    if (other == RankState::joined) {
      joined += (joined.empty() ? "" : ", ") + std::to_string(group()->ranks()[static_cast<size_t>(r)]);
      continue;
    }
    check(common == RankState::joined || other == common,
          "Join: some ranks are in a forward pass, others in a backward pass: all must do the same in each "
          "step");
    common = other;
    present.push_back(r);
  }
  check(!join_->throw_when_joined || present.empty() || joined.empty(), "Join: rank ", joined,
        " has no more inputs, and throw_on_early_termination is set");
  if (!present.empty()) join_->present = std::move(present);
  return common;
}

int Reducer::shadow() {
  if (is_alone()) return -1;
  while (true) {
    const RankState common = meet(RankState::joined);
    if (common == RankState::joined) break;
    if (common == RankState::forward)
      buffer_broadcast_.run(first_present(), group());
    else
      shadow_backward();
  }
  if (join_->present.empty()) return -1;
  broadcast_all(all_tensors(), first_present(), group());
  return first_present();
}

void Reducer::shadow_backward() {
  is_reducing_ = true;
  start_pass();
  present_.clear();
  if (shows_unused()) {
    used_ = empty({static_cast<int64_t>(parameters_.size())}, uint8);
    kernels::fill(used_, 0);
    used_work_ = all_reduce(used_, {.op = ReduceOp::max, .group = group(), .async_op = true});
  }
  for (const Parameter& parameter : parameters_) parameter.tensor.set_grad(Tensor());
  for (const Bucket& bucket : buckets_) kernels::fill(bucket.buffer, 0);
  launch_ready();
  end();
}

}  // namespace tern::nn::parallel
