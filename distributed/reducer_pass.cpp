#include <tern/distributed/reducer.h>

#include <tern/core/profile.h>
#include <tern/distributed/bucket_plan.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/pointwise.h>

#include <algorithm>

namespace tern::nn::parallel {

using namespace distributed;

// A first pass under .static_graph shows it; later ones go by what the first showed.
bool Reducer::shows_unused() const {
  return options_.static_graph ? is_first_pass_ : options_.find_unused_parameters;
}

void Reducer::begin(const std::vector<size_t>& leaves) {
  if (!sync_) return;
  if (join_) meet(RankState::backward);
  is_reducing_ = true;
  std::vector<bool> reached(parameters_.size(), false);
  for (const size_t i : leaves) reached[i] = true;
  start_pass();
  present_ = reached;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].tensor.grad().defined()) present_[i] = true;
    if (reached[i]) ++buckets_[parameters_[i].bucket].missing;
  }
  check_graph(reached);
  if (shows_unused()) {
    used_ = empty({static_cast<int64_t>(parameters_.size())}, uint8);
    std::copy(present_.begin(), present_.end(), used_.data<uint8_t>());
    used_work_ = all_reduce(used_, {.op = ReduceOp::max, .group = group(), .async_op = true});
  }
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (!reached[i]) settle(parameters_[i]);
  launch_ready();
}

void Reducer::start_pass() {
  if (is_first_pass_) {
    compares_otherwise_ = group()->compares_calls();
    group()->compare_calls(true);
  }
  next_bucket_ = 0;
  order_.clear();
  used_work_ = nullptr;
  for (Bucket& bucket : buckets_) bucket.missing = 0, bucket.work = nullptr;
}

void Reducer::check_graph(const std::vector<bool>& reached) {
  const bool is_static = options_.static_graph && !is_first_pass_ && !graph_.empty();
  std::vector<size_t> wrong;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool is_right = is_static                                                  ? reached[i] == graph_[i]
                          : options_.static_graph || options_.find_unused_parameters ? true
                                                                                     : present_[i];
    if (!is_right) wrong.push_back(i);
  }
  if (is_first_pass_) graph_ = reached;
  if (wrong.empty()) return;
  const std::string rank = std::to_string(group()->ranks()[static_cast<size_t>(group()->rank())]);
  const std::string message =
      is_static
          ? "DistributedDataParallel: static_graph, but on rank " + rank +
                " backward reached other parameters than the first time: " + names(wrong)
          : "DistributedDataParallel: backward on rank " + rank + " gives no gradient to " + names(wrong) +
                ": the loss does not depend on them. If that is meant, set "
                ".find_unused_parameters, or freeze them before wrapping";
  break_group(message);
  throw Error(message);
}

std::string Reducer::names(const std::vector<size_t>& parameters) const {
  constexpr size_t most = 20;
  std::string text;
  for (size_t k = 0; k < std::min(most, parameters.size()); ++k)
    text += (k > 0 ? ", " : "") + parameters_[parameters[k]].name;
  if (parameters.size() > most) text += " and " + std::to_string(parameters.size() - most) + " more";
  return text;
}

// The others wait for this rank's buckets: they learn at once that none will come.
void Reducer::break_group(const std::string& message) const {
  try {
    group()->start({"backward"}, false, [&](const Call&) { throw DistributedError(message); });
  } catch (const DistributedError&) {  // the message, or what broke the group before
  }
}

// Brings what the parameter's gradient is into the bucket, from wherever somebody has put it.
void Reducer::settle(Parameter& parameter) {
  const Tensor gradient = parameter.tensor.grad();
  if (!gradient.defined()) return kernels::fill(parameter.slot, 0);
  if (gradient.is_same(parameter.slot)) return;
  kernels::copy(gradient.detach(), parameter.slot);
  parameter.tensor.set_grad(parameter.slot);
}

void Reducer::complete(size_t leaf) {
  if (!is_reducing_) return;
  Parameter& parameter = parameters_[leaf];
  settle(parameter);
  order_.push_back(leaf);
  --buckets_[parameter.bucket].missing;
  launch_ready();
}

void Reducer::launch_ready() {
  for (; next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0; ++next_bucket_) {
    Bucket& bucket = buckets_[next_bucket_];
    GradBucket shown{
        static_cast<int64_t>(next_bucket_), next_bucket_ + 1 == buckets_.size(), bucket.buffer, {}};
    if (!hook_) {
      bucket.work = allreduce_hook(shown, group());
      continue;
    }
    for (const size_t i : bucket.parameters) shown.parameters.push_back(parameters_[i].tensor);
    bucket.work = hook_(shown, group());
  }
}

void Reducer::end() {
  if (!is_reducing_) return;
  {
    const OperationScope scope("wait for gradients");
    if (used_work_) used_work_->wait();
    for (Bucket& bucket : buckets_) {
      if (bucket.work) bucket.work->wait();
      bucket.work = nullptr;
    }
  }
  adopt_gradients();
  if (is_first_pass_) {
    adopt_order();
    is_first_pass_ = false;
    group()->compare_calls(compares_otherwise_);
  }
  is_reducing_ = false;
}

void Reducer::adopt_gradients() {
  if (present_.empty()) return;  // a shadow's
  if (join_ && !join_->divide_by_world && std::ssize(join_->present) < group()->size()) {
    const double factor = static_cast<double>(group()->size()) / static_cast<double>(join_->present.size());
    for (const Bucket& bucket : buckets_)
      kernels::binary_(Mul{}, bucket.buffer, kernels::scalar_like(factor, bucket.buffer));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& tensor = parameters_[i].tensor;
    const bool is_used = !used_.defined() || used_.data<uint8_t>()[i] != 0;
    if (is_used && !tensor.grad().defined()) tensor.set_grad(parameters_[i].slot);
  }
}

void Reducer::adopt_order() {
  for (const Bucket& bucket : buckets_) {
    for (const size_t i : bucket.parameters)
      if (std::find(order_.begin(), order_.end(), i) == order_.end()) order_.push_back(i);
  }
  const std::vector<int64_t> own(order_.begin(), order_.end());
  const Tensor order = from_vector(own);
  broadcast(order, group()->ranks()[static_cast<size_t>(first_present())], {.group = group()});
  const auto* const first = order.data<int64_t>();
  order_.assign(first, first + order.numel());
  std::vector<std::vector<size_t>> present;
  present.reserve(buckets_.size());
  for (const Bucket& bucket : buckets_) present.push_back(bucket.parameters);
  if (plan(order_) != present) make_buckets(order_);
}

void Reducer::abandon() noexcept {
  if (!is_reducing_) return;
  is_reducing_ = false;
  if (is_first_pass_) group()->compare_calls(compares_otherwise_);
  break_group("DistributedDataParallel: backward on rank " +
              std::to_string(group()->ranks()[static_cast<size_t>(group()->rank())]) +
              " ended by an exception");
  for (Bucket& bucket : buckets_) bucket.work = nullptr;
}

}  // namespace tern::nn::parallel
