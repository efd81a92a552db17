// One walk over a graph: a call of backward() or grad(), or the backward of a checkpoint. Internal to
// autograd.
#pragma once

#include <tern/autograd/backward_observer.h>
#include <tern/autograd/node.h>

#include <string>
#include <vector>

namespace tern::detail {

/// The operations that a result depends on, and where their gradients go. A walk ends at leaves, and at what
/// was recorded before sequence number `floor`: the outside of a checkpointed segment.
class Walk {
 public:
  /// Throws Error when `result` requires no gradient.
  Walk(const Tensor& result, const char* caller, uint64_t floor = 0);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// To the leaves' grad(), with their hooks; otherwise to results() (and no hook knows).
  enum class Into { leaves, results };
  /// Finds the operations and claims them. Throws Error when another walk is under way there.
  void collect(Into into);
  /// Where the walk ends, each end once, in the order of the operations.
  std::vector<Edge> ends() const;
  /// Only paths to `targets` are walked.
  void restrict_to(std::vector<Edge> targets);
  void run(Tensor dy, bool retain_graph);
  /// A gradient for each target; undefined where none arrived.
  std::vector<Tensor>& results() { return results_; }

 private:
  void visit(const Edge& edge);
  bool is_end(const Edge& edge) const { return edge.leaf || edge.node->sequence < floor_; }
  bool is_target(const Edge& edge) const;
  bool wanted(const Edge& edge) const;
  void step(Node& node, bool retain_graph);
  void deliver(const Node& from, const Edge& edge, Tensor gradient);
  void deliver_to_end(const Edge& edge, Tensor gradient);
  void leaf_use_done(const Edge& edge);
  void expect_leaf(TensorImpl& leaf);
  void begin_observed();
  void end_observed();

  // What hooks know the walk by: unlike its address, it is never that of an earlier walk that failed.
  const uint64_t number_;
  const uint64_t floor_;
  Edge root_;
  Into into_ = Into::leaves;
  std::vector<Node*> nodes_;  // the last recorded first; kept alive by the root
  std::vector<Edge> targets_;
  std::vector<Tensor> results_;

  struct Observed {
    BackwardObserver* observer;
    std::vector<size_t> leaves;
    bool is_open = false;
  };
  std::vector<Observed> observed_;
};

}  // namespace tern::detail
