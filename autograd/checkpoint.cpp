#include <tern/autograd/checkpoint.h>

#include <tern/autograd/record.h>
#include <tern/autograd/walk.h>
#include <tern/core/random_journal.h>
#include <tern/kernels/copy.h>

#include <algorithm>
#include <utility>

namespace tern {
namespace {

using detail::Walk;

thread_local bool recomputing = false;

using Starts = std::vector<RandomJournal::Start>;

// While it lives, the generators' random numbers are those that followed `starts`.
class Replay {
 public:
  explicit Replay(const Starts& starts) {
    for (const auto& [generator, state] : starts) {
      after_.push_back({generator, generator->state()});
      generator->set_state(state);
    }
  }
  ~Replay() {
    for (const auto& [generator, state] : after_) generator->set_state(state);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

 private:
  Starts after_;
  RecomputingGuard recomputing_;
};

// The inputs as leaves, at which the segment ends.
std::vector<Tensor> as_leaves(const std::vector<Tensor>& inputs, const std::vector<bool>& requires_grad) {
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < inputs.size(); ++i)
    leaves.push_back(inputs[i].detach().requires_grad_(requires_grad[i]));
  return leaves;
}

// What the second run needs.
struct Segment {
  CheckpointFunction function;
  std::vector<SavedTensor> inputs;
  std::vector<bool> requires_grad;
  std::vector<Edge> outside;          // what the function uses besides,
  std::vector<SavedTensor> captured;  // and those of it that are leaves
  Starts starts;

  Gradients backward(const Tensor& dy, Wants wants) const;
};

Gradients Segment::backward(const Tensor& dy, Wants wants) const {
  std::vector<Tensor> kept;
  for (const SavedTensor& input : inputs) kept.push_back(input.get());
  for (const SavedTensor& leaf : captured) leaf.get();  // refuses changes
  const uint64_t first = next_sequence();
  const std::vector<Tensor> leaves = as_leaves(kept, requires_grad);
  Tensor y;
  {
    const EnableGradGuard recording;
    const Replay replay(starts);
    y = function(leaves);
  }
  check(y.shape() == dy.shape() && y.dtype() == dy.dtype(), "checkpoint: the function gave ", y.dtype(),
        " of shape ", y.shape(), " in its second run and ", dy.dtype(), " of shape ", dy.shape(),
        " in its first");
  std::vector<Edge> targets;
  targets.reserve(leaves.size() + outside.size());
  for (const Tensor& leaf : leaves) targets.push_back(edge_to(leaf));
  targets.insert(targets.end(), outside.begin(), outside.end());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!wants[i]) targets[i] = Edge();
  }
  Walk walk(y, "checkpoint", first);
  walk.collect(Walk::Into::results);
  walk.restrict_to(std::move(targets));
  walk.run(dy, false);
  Gradients gradients;
  for (Tensor& gradient : walk.results()) gradients.push_back(std::move(gradient));
  return gradients;
}

}  // namespace

bool is_recomputing() { return recomputing; }

RecomputingGuard::RecomputingGuard(bool on) : before_(recomputing) { recomputing = on; }

RecomputingGuard::~RecomputingGuard() { recomputing = before_; }

Tensor checkpoint(CheckpointFunction function, const std::vector<Tensor>& inputs) {
  if (!is_grad_enabled()) return function(inputs);
  Segment segment;
  for (const Tensor& input : inputs) {
    check(input.defined(), "checkpoint: an input is undefined");
    segment.inputs.emplace_back(input);
    segment.requires_grad.push_back(input.requires_grad());
  }
  const uint64_t first = next_sequence();
  const std::vector<Tensor> leaves = as_leaves(inputs, segment.requires_grad);
  // This run is recorded only to learn what the function uses: its graph goes before anything else is
  // computed.
  Tensor y;
  {
    const RandomJournal journal;
    y = function(leaves);
    segment.starts = journal.starts();
  }
  check(y.defined(), "checkpoint: the function returned an undefined tensor");
  if (!y.requires_grad()) return y;
  std::vector<Edge> own;
  own.reserve(leaves.size());
  for (const Tensor& leaf : leaves) own.push_back(edge_to(leaf));
  {
    Walk walk(y, "checkpoint", first);
    walk.collect(Walk::Into::results);
    for (const Edge& end : walk.ends()) {
      if (std::find(own.begin(), own.end(), end) != own.end()) continue;
      segment.outside.push_back(end);
      if (end.leaf) segment.captured.emplace_back(Tensor(end.leaf));
    }
  }
  y = y.detach();
  // Memory that others see too could be changed through the result behind their back.
  if (y.storage()->references() > 1) y = kernels::clone(y);
  segment.function = std::move(function);
  const std::vector<Edge> outside = segment.outside;
  const auto node = detail::make_node(
      "checkpoint", y, inputs,
      [segment = std::move(segment)](const Tensor& dy, Wants wants) { return segment.backward(dy, wants); });
  for (const Edge& edge : outside) node->inputs.push_back(edge);
  detail::attach(y, node);
  return y;
}

}  // namespace tern
