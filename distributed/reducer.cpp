#include <tern/distributed/reducer.h>

#include <tern/autograd/checkpoint.h>
#include <tern/autograd/grad_mode.h>
#include <tern/core/profile.h>
#include <tern/distributed/bucket_plan.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>

#include <algorithm>
#include <sstream>

namespace tern::nn::parallel {

using namespace distributed;

namespace {

constexpr double mib = 1 << 20;

class Members : public Visitor {
 public:
  explicit Members(Module& module) { module.members(*this); }
  void parameter(const std::string&, Tensor& value) override { add(value); }
  void buffer(const std::string&, Tensor& value) override { add(value); }
  void module(const std::string&, Module& child) override { child.members(*this); }
  std::vector<Tensor> tensors;

 private:
  void add(const Tensor& value) {
    if (value.defined()) tensors.push_back(value);
  }
};

template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// Switches compare_calls on while it lives.
class Comparing {
 public:
  explicit Comparing(const Group& group) : group_(group), before_(group->compares_calls()) {
    group_->compare_calls(true);
  }
  ~Comparing() { group_->compare_calls(before_); }
  Comparing(const Comparing&) = delete;
  Comparing& operator=(const Comparing&) = delete;

 private:
  const Group& group_;
  bool before_;
};

}  // namespace

Reducer::Observation::Observation(const std::vector<Parameter>& parameters, BackwardObserver* observer) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& leaf = parameters[i].tensor;
    check(!is_observed(leaf), "DistributedDataParallel: ", parameters[i].name,
          " belongs to another DistributedDataParallel");
    observe_backward(leaf, observer, i);
    leaves.push_back(leaf);
  }
}

Reducer::Observation::~Observation() {
  for (const Tensor& leaf : leaves) {
    observe_backward(leaf, nullptr);
    leaf.impl()->grad_slot = Tensor();
  }
}

Reducer::Reducer(Module& module, const DistributedDataParallelOptions& options)
    : options_(options), members_(Members(module).tensors) {
  check(options.bucket_cap_mb > 0, "DistributedDataParallel: bucket_cap_mb must be above 0, got ",
        options.bucket_cap_mb);
  if (!options_.process_group) options_.process_group = default_group();
  for (const auto& [name, tensor] : module.named_parameters()) {
    if (tensor.requires_grad())
      parameters_.push_back({name, tensor, tensor.shape(), tensor.dtype(), tensor.device()});
    else
      frozen_.push_back(tensor);
  }
  for (const auto& [name, tensor] : module.named_buffers()) buffers_.push_back(tensor);
  check(!parameters_.empty(),
        "DistributedDataParallel: no parameter of the module requires a gradient; it "
        "needs no DistributedDataParallel");
  if (is_alone()) return;
  {
    const Comparing comparing(group());
    check_same_on_all_ranks(module);
    broadcast_all(all_tensors(), 0, group());
  }
  observation_ = std::make_unique<Observation>(parameters_, this);
  if (options_.broadcast_buffers) buffer_broadcast_ = FlatBroadcast(buffers_);
  std::vector<size_t> order(parameters_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  make_buckets(order);
}

Reducer::~Reducer() = default;

void Reducer::check_same_on_all_ranks(Module& module) const {
  std::vector<std::string> lines{text_of("bucket_cap_mb = ", options_.bucket_cap_mb),
                                 text_of("find_unused_parameters = ", options_.find_unused_parameters),
                                 text_of("static_graph = ", options_.static_graph),
                                 text_of("broadcast_buffers = ", options_.broadcast_buffers)};
  module.each_tensor([&](const std::string& name, const Tensor& tensor) {
    lines.push_back(text_of(name, " (", tensor.dtype(), ", ", tensor.shape(),
                            tensor.requires_grad() ? ", trained)" : ", not trained)"));
  });
  check_same_lines(lines, "DistributedDataParallel: the ranks' models differ", group());
}

std::vector<Tensor> Reducer::all_tensors() const {
  std::vector<Tensor> all;
  for (const Parameter& parameter : parameters_) all.push_back(parameter.tensor);
  all.insert(all.end(), frozen_.begin(), frozen_.end());
  all.insert(all.end(), buffers_.begin(), buffers_.end());
  return all;
}

std::vector<std::vector<size_t>> Reducer::plan(const std::vector<size_t>& order) const {
  std::vector<Tensor> tensors;
  for (const Parameter& parameter : parameters_) tensors.push_back(parameter.tensor);
  const double capacity = options_.bucket_cap_mb * mib;
  return plan_buckets(tensors, order, std::min(mib, capacity), capacity);
}

void Reducer::make_buckets(const std::vector<size_t>& order) {
  buckets_.clear();
  for (std::vector<size_t>& members : plan(order)) {
    int64_t count = 0, offset = 0;
    for (const size_t i : members) count += parameters_[i].tensor.numel();
    const Parameter& first = parameters_[members[0]];
    Bucket bucket{zeros({count}, first.dtype, first.device), std::move(members)};
    for (const size_t i : bucket.parameters) {
      Parameter& parameter = parameters_[i];
      const Layout& layout = parameter.tensor.layout();
      const Strides strides = layout.is_dense() ? layout.strides : dense_strides(layout.shape);
      parameter.slot = bucket.buffer.with_layout(Layout(layout.shape, strides, offset));
      parameter.bucket = buckets_.size();
      parameter.tensor.impl()->grad_slot = parameter.slot;
      if (parameter.tensor.grad().defined()) settle(parameter);
      offset += parameter.tensor.numel();
    }
    buckets_.push_back(std::move(bucket));
  }
}

std::vector<std::vector<std::string>> Reducer::buckets() const {
  std::vector<std::vector<std::string>> result;
  for (const Bucket& bucket : buckets_) {
    result.emplace_back();
    for (const size_t i : bucket.parameters) result.back().push_back(parameters_[i].name);
  }
  return result;
}

void Reducer::set_hook(CommHook hook) {
  check(hook, "register_comm_hook: the hook is empty");
  check(!hook_, "register_comm_hook: there is a hook already");
  check(is_first_pass_,
        "register_comm_hook: gradients have been reduced without it; register it before the "
        "first backward");
  hook_ = std::move(hook);
}

void Reducer::check_unchanged(Module& module) const {
  const std::vector<Tensor> now = Members(module).tensors;
  const bool is_same = std::equal(now.begin(), now.end(), members_.begin(), members_.end(),
                                  [](const Tensor& a, const Tensor& b) { return a.is_same(b); });
  const char* const advice = "; change the module first, then wrap it";
  if (!is_same) {
    size_t i = 0;
    module.each_tensor([&](const std::string& name, const Tensor& tensor) {
      check(i < members_.size() && tensor.is_same(members_[i]), "DistributedDataParallel: ", name,
            " was replaced, or the module cloned, after it was wrapped", advice);
      ++i;
    });
    check(false, "DistributedDataParallel: the module lost members after it was wrapped", advice);
  }
  for (const auto& [name, tensor, shape, dtype, device, slot, bucket] : parameters_) {
    check(tensor.requires_grad(), "DistributedDataParallel: ", name, " was frozen after it was wrapped",
          advice);
    check(tensor.dtype() == dtype && tensor.device() == device && tensor.shape() == shape,
          "DistributedDataParallel: ", name, " was ", dtype, " on ", device, " when it was wrapped, and is ",
          tensor.dtype(), " on ", tensor.device(), advice);
  }
  for (const Tensor& tensor : frozen_)
    check(!tensor.requires_grad(), "DistributedDataParallel: a parameter of shape ", tensor.shape(),
          " was thawed after it was wrapped", advice);
}

void Reducer::before_forward(Module& module) {
  if (is_alone()) return;
  check_unchanged(module);
  const bool trains = sync_ && is_grad_enabled() && module.is_training() && !is_recomputing();
  if (!trains || !options_.broadcast_buffers || buffers_.empty()) return;
  const OperationScope scope("broadcast_buffers");
  if (join_) meet(RankState::forward);
  buffer_broadcast_.run(first_present(), group());
}

}  // namespace tern::nn::parallel
