#include <tern/autograd/walk.h>

#include <tern/autograd/accumulate.h>
#include <tern/autograd/anomaly.h>
#include <tern/autograd/backward.h>
#include <tern/autograd/grad_mode.h>
#include <tern/autograd/hooks.h>
#include <tern/core/profile.h>

#include <algorithm>
#include <atomic>

namespace tern {
namespace {

thread_local const char* running = "backward";

class RunningGuard {
 public:
  ~RunningGuard() { running = before_; }

 private:
  const char* before_ = running;
};

// The list of nodes keeps its memory between walks, so that a steady step makes no heap call.
thread_local std::vector<Node*> spare_list;

std::atomic<uint64_t> walks = 0;

Gradients profiled_apply(Node& node, Wants wants) {
  const ProfileScope scope(node.name, ProfileKind::backward);
  return node.apply(node.dy, wants);
}

}  // namespace

const char* running_backward_of() { return running; }

namespace detail {

Walk::Walk(const Tensor& result, const char* caller, uint64_t floor)
    : number_(++walks), floor_(floor), root_(edge_to(result)), nodes_(std::move(spare_list)) {
  nodes_.clear();
  check(static_cast<bool>(root_), caller, ": the result requires no gradient");
}

Walk::~Walk() {
  for (const Observed& entry : observed_) {
    if (entry.is_open) entry.observer->abandon();
  }
  for (Node* node : nodes_) {
    node->dy = Tensor();
    node->walker.store(nullptr, std::memory_order_release);
  }
  spare_list = std::move(nodes_);
}

void Walk::collect(Into into) {
  into_ = into;
  visit(root_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const Edge& input : nodes_[i]->inputs) visit(input);
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
}

void Walk::visit(const Edge& edge) {
  if (edge.leaf && edge.leaf->hooks && into_ == Into::leaves) expect_leaf(*edge.leaf);
  if (!edge || is_end(edge)) return;
  const void* nobody = nullptr;
  if (edge.node->walker.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
    edge.node->needed = true;
    nodes_.push_back(edge.node.get());
  } else {
    check(nobody == this, "backward: ", edge.node->name, " is being walked by another call of backward");
  }
}

void Walk::expect_leaf(TensorImpl& leaf) {
  LeafHooks& hooks = hooks_of(leaf);
  if (!hooks.expect_use(number_) || !hooks.observer) return;
  auto entry = std::find_if(observed_.begin(), observed_.end(),
                            [&](const Observed& known) { return known.observer == hooks.observer; });
  if (entry == observed_.end()) entry = observed_.insert(entry, {hooks.observer, {}});
  entry->leaves.push_back(hooks.number);
}

void Walk::begin_observed() {
  for (Observed& entry : observed_) {
    entry.is_open = true;
    entry.observer->begin(entry.leaves);
  }
}

void Walk::end_observed() {
  for (auto entry = observed_.rbegin(); entry != observed_.rend(); ++entry) {
    entry->observer->end();
    entry->is_open = false;
  }
}

std::vector<Edge> Walk::ends() const {
  std::vector<Edge> found;
  const auto note = [&](const Edge& edge) {
    if (edge && is_end(edge) && std::find(found.begin(), found.end(), edge) == found.end())
      found.push_back(edge);
  };
  note(root_);
  for (const Node* node : nodes_) {
    for (const Edge& input : node->inputs) note(input);
  }
  return found;
}

bool Walk::is_target(const Edge& edge) const {
  return std::find(targets_.begin(), targets_.end(), edge) != targets_.end();
}

bool Walk::wanted(const Edge& edge) const {
  if (!edge) return false;
  return is_end(edge) ? into_ == Into::leaves || is_target(edge) : edge.node->needed;
}

void Walk::restrict_to(std::vector<Edge> targets) {
  targets_ = std::move(targets);
  results_.resize(targets_.size());
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    (*node)->needed =
        is_target({Ref<Node>(*node), nullptr}) || std::any_of((*node)->inputs.begin(), (*node)->inputs.end(),
                                                              [&](const Edge& edge) { return wanted(edge); });
  }
}

void Walk::run(Tensor dy, bool retain_graph) {
  const NoGradGuard no_grad;
  const RunningGuard running_guard;
  begin_observed();
  if (is_end(root_)) {
    deliver_to_end(root_, std::move(dy));
    leaf_use_done(root_);
  } else {
    root_.node->dy = std::move(dy);
  }
  for (Node* node : nodes_) {
    if (node->dy.defined() && node->needed) step(*node, retain_graph);
    for (const Edge& input : node->inputs) leaf_use_done(input);
  }
  running = "backward";
  end_observed();
}

void Walk::step(Node& node, bool retain_graph) {
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].node.get() == &node) results_[i] = node.dy;
  }
  Wants wants;
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (wanted(node.inputs[i])) wants.set(i), any = true;
  }
  if (!any) return;
  check(!node.released(), "backward: ", node.name,
        " was walked before and gave up what it kept; walk it the first time with retain_graph");
  running = node.name;
  Gradients gradients = profiled_apply(node, wants);
  check(gradients.size() == node.inputs.size(), node.name, ": its backward returned ", gradients.size(),
        " gradients for ", node.inputs.size(), " inputs");
  if (is_anomaly_detected()) check_gradients(node, gradients, wants, nodes_);
  node.dy = Tensor();
  if (!retain_graph) node.release_saved();
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (wants[i] && gradients[i].defined() && wanted(node.inputs[i])) {
      deliver(node, node.inputs[i], std::move(gradients[i]));
    }
  }
}

void Walk::deliver(const Node& from, const Edge& edge, Tensor gradient) {
  const Shape& expected = edge.node ? edge.node->shape : edge.leaf->layout.shape;
  const DType dtype = edge.node ? edge.node->dtype : edge.leaf->dtype;
  const Device device = edge.node ? edge.node->device : edge.leaf->storage->device();
  check(gradient.shape() == expected && gradient.dtype() == dtype, from.name,
        ": its backward returned a gradient of shape ", gradient.shape(), " and dtype ", gradient.dtype(),
        " for an input of shape ", expected, " and dtype ", dtype);
  check(gradient.device() == device, from.name, ": its backward returned a gradient on ", gradient.device(),
        " for an input on ", device);
  if (is_end(edge))
    deliver_to_end(edge, std::move(gradient));
  else
    accumulate(edge.node->dy, std::move(gradient));
}

void Walk::deliver_to_end(const Edge& edge, Tensor gradient) {
  if (into_ == Into::leaves) return accumulate_leaf(*edge.leaf, std::move(gradient));
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i] == edge) accumulate(results_[i], gradient);
  }
}

void Walk::leaf_use_done(const Edge& edge) {
  if (edge.leaf && edge.leaf->hooks && into_ == Into::leaves)
    hooks_of(*edge.leaf).use_done(number_, Tensor(edge.leaf));
}

}  // namespace detail
}  // namespace tern
