#include <tern/autograd/backward.h>

#include <tern/autograd/accumulate.h>
#include <tern/autograd/hooks.h>
#include <tern/autograd/record.h>
#include <tern/kernels/fill.h>

#include <algorithm>
#include <atomic>

namespace tern {
namespace {

thread_local const char* running = "backward";

// The list of nodes keeps its memory between walks, so that a steady step makes no heap call.
thread_local std::vector<Node*> spare_list;

std::atomic<uint64_t> walks = 0;

// One call of backward() or grad(): the nodes that the result depends on, and where gradients of leaves go.
class Walk {
 public:
  Walk(const Tensor& result, const char* caller) : root_(edge_to(result)), nodes_(std::move(spare_list)) {
    nodes_.clear();
    check(root_, caller, ": the result requires no gradient");
  }
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// Finds the operations that the result depends on and claims them for this walk.
  void collect();
  /// For grad(): only paths to `inputs` are walked, and what arrives there is kept in results().
  void restrict_to(const std::vector<Tensor>& inputs);
  void run(Tensor dy, bool retain_graph);
  std::vector<Tensor>& results() { return results_; }

 private:
  struct Target {
    Edge edge;
    size_t index;
  };

  void visit(const Edge& edge);
  bool wanted(const Edge& edge) const;
  void collect_targets(const Node& node);
  void step(Node& node, bool retain_graph);
  void deliver(const Node& from, const Edge& edge, Tensor gradient);
  void deliver_to_leaf(const Ref<TensorImpl>& leaf, Tensor gradient);
  void leaf_use_done(const Edge& edge);

  // What hooks know the walk by: unlike its address, it is never that of an earlier walk that failed.
  const uint64_t number_ = ++walks;
  Edge root_;
  std::vector<Node*> nodes_;  // the last recorded first; kept alive by the root
  std::vector<Target> targets_;
  std::vector<Tensor> results_;
  bool restricted_ = false;
};

void Walk::collect() {
  visit(root_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const Edge& input : nodes_[i]->inputs) visit(input);
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
}

Walk::~Walk() {
  for (Node* node : nodes_) {
    node->dy = Tensor();
    node->walker.store(nullptr, std::memory_order_release);
  }
  spare_list = std::move(nodes_);
}

void Walk::visit(const Edge& edge) {
  if (edge.leaf && edge.leaf->hooks) detail::hooks_of(*edge.leaf).expect_use(number_);
  if (!edge.node) return;
  const void* nobody = nullptr;
  if (edge.node->walker.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
    edge.node->needed = true;
    nodes_.push_back(edge.node.get());
  } else {
    check(nobody == this, "backward: ", edge.node->name, " is being walked by another call of backward");
  }
}

bool Walk::wanted(const Edge& edge) const {
  if (edge.node) return edge.node->needed;
  if (!edge.leaf) return false;
  return !restricted_ || std::any_of(targets_.begin(), targets_.end(),
                                     [&](const Target& target) { return target.edge.leaf == edge.leaf; });
}

void Walk::restrict_to(const std::vector<Tensor>& inputs) {
  restricted_ = true;
  results_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(inputs[i].defined() && inputs[i].requires_grad(), "grad: input ", i, " requires no gradient");
    targets_.push_back({edge_to(inputs[i]), i});
  }
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const auto is_target = [&](const Target& target) { return target.edge.node.get() == *node; };
    (*node)->needed = std::any_of((*node)->inputs.begin(), (*node)->inputs.end(),
                                  [&](const Edge& e) { return wanted(e); }) ||
                      std::any_of(targets_.begin(), targets_.end(), is_target);
  }
}

void Walk::run(Tensor dy, bool retain_graph) {
  if (root_.leaf) return deliver_to_leaf(root_.leaf, std::move(dy)), leaf_use_done(root_);
  root_.node->dy = std::move(dy);
  for (Node* node : nodes_) {
    if (node->dy.defined() && node->needed) step(*node, retain_graph);
    for (const Edge& input : node->inputs) leaf_use_done(input);
  }
}

void Walk::step(Node& node, bool retain_graph) {
  collect_targets(node);
  Wants wants;
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (wanted(node.inputs[i])) wants.set(i), any = true;
  }
  if (!any) return;
  check(!node.released(), "backward: ", node.name,
        " was walked before and gave up what it kept; walk it the first time with retain_graph");
  running = node.name;
  Gradients gradients = node.apply(node.dy, wants);
  node.dy = Tensor();
  check(gradients.size() == node.inputs.size(), node.name, ": its backward returned ", gradients.size(),
        " gradients for ", node.inputs.size(), " inputs");
  if (!retain_graph) node.release_saved();
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (wants[i] && gradients[i].defined() && wanted(node.inputs[i])) {
      deliver(node, node.inputs[i], std::move(gradients[i]));
    }
  }
}

void Walk::collect_targets(const Node& node) {
  for (const Target& target : targets_) {
    if (target.edge.node.get() == &node) results_[target.index] = node.dy;
  }
}

void Walk::deliver(const Node& from, const Edge& edge, Tensor gradient) {
  const Shape& expected = edge.node ? edge.node->shape : edge.leaf->layout.shape;
  const DType dtype = edge.node ? edge.node->dtype : edge.leaf->dtype;
  check(gradient.shape() == expected && gradient.dtype() == dtype, from.name,
        ": its backward returned a gradient of shape ", gradient.shape(), " and dtype ", gradient.dtype(),
        " for an input of shape ", expected, " and dtype ", dtype);
  if (edge.node)
    detail::accumulate(edge.node->dy, std::move(gradient));
  else
    deliver_to_leaf(edge.leaf, std::move(gradient));
}

void Walk::deliver_to_leaf(const Ref<TensorImpl>& leaf, Tensor gradient) {
  if (!restricted_) return detail::accumulate_leaf(*leaf, std::move(gradient));
  for (const Target& target : targets_) {
    if (target.edge.leaf == leaf) detail::accumulate(results_[target.index], gradient);
  }
}

void Walk::leaf_use_done(const Edge& edge) {
  if (edge.leaf && edge.leaf->hooks && !restricted_)
    detail::hooks_of(*edge.leaf).use_done(number_, Tensor(edge.leaf));
}

class RunningGuard {
 public:
  ~RunningGuard() { running = before_; }

 private:
  const char* before_ = running;
};

Tensor initial_gradient(const Tensor& result, const Tensor& given, const char* caller) {
  if (given.defined()) {
    check(given.shape() == result.shape() && given.dtype() == result.dtype(), caller,
          ": the result has shape ", result.shape(), " and dtype ", result.dtype(), ", the given gradient ",
          given.shape(), " and ", given.dtype());
    return given.detach();
  }
  check(result.numel() == 1, caller, ": a result of shape ", result.shape(),
        " needs a gradient to start from (options.gradient); only one with a single element starts from 1");
  Tensor one = empty_like(result);
  kernels::fill(one, 1);
  return one;
}

void refuse_create_graph(bool create_graph, const char* caller) {
  check(!create_graph, caller, ": second derivatives (create_graph) are not supported");
}

}  // namespace

void backward(const Tensor& result, const BackwardOptions& options) {
  refuse_create_graph(options.create_graph, "backward");
  Walk walk(result, "backward");
  walk.collect();
  const NoGradGuard no_grad;
  const RunningGuard running_guard;
  walk.run(initial_gradient(result, options.gradient, "backward"), options.retain_graph);
}

std::vector<Tensor> grad(const Tensor& result, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  refuse_create_graph(options.create_graph, "grad");
  Walk walk(result, "grad");
  walk.collect();
  walk.restrict_to(inputs);
  const NoGradGuard no_grad;
  const RunningGuard running_guard;
  walk.run(initial_gradient(result, options.gradient, "grad"), options.retain_graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(options.allow_unused || walk.results()[i].defined(), "grad: the result does not depend on input ",
          i, " (allow_unused gives an undefined gradient instead)");
  }
  return std::move(walk.results());
}

const char* running_backward_of() { return running; }

}  // namespace tern
