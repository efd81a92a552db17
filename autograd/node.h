// The graph that backward walks: a node per recorded operation, owned by the tensor that it produced and by
// the nodes that consumed it. Users meet it only through record().
#pragma once

#include <tern/core/inline_vector.h>
#include <tern/core/tensor.h>

#include <atomic>
#include <cstdint>

namespace tern {

/// The gradients that an operation's backward returns, one per input in order; an undefined one means zero.
using Gradients = InlineVector<Tensor, 3>;

/// Which inputs of an operation want a gradient: no dx is computed for images, none for frozen layers. From
/// the 64th input on all share one answer.
class Wants {
 public:
  bool operator[](size_t input) const { return bits_ >> (input < 63 ? input : 63) & 1; }
  void set(size_t input) { bits_ |= uint64_t{1} << (input < 63 ? input : 63); }

 private:
  uint64_t bits_ = 0;
};

class Node;

/// Where the gradient of one input goes: to the operation that made it, to a leaf, or (both null) nowhere.
struct Edge {
  Ref<Node> node;
  Ref<TensorImpl> leaf;
  explicit operator bool() const { return node || leaf; }
  bool operator==(const Edge&) const = default;
};

/// The edge that leads to `input`; empty when it requires no gradient.
Edge edge_to(const Tensor& input);

/// Above those of all operations recorded so far, at most those of the ones to come.
uint64_t next_sequence();

class Node : public RefCounted {
 public:
  /// `operation` must outlive the node (a literal).
  Node(const char* operation, const Tensor& output);

  /// The gradients of the inputs from the gradient of the output; only those that `wants` names are used.
  virtual Gradients apply(const Tensor& dy, Wants wants) = 0;
  /// Drops what apply() needs. The node stays in the graph, but cannot be walked again.
  virtual void release_saved() = 0;
  virtual bool released() const = 0;

  const char* name;
  uint64_t sequence;  ///< grows with every recorded operation: inputs come before outputs
  Shape shape;        ///< of the output
  DType dtype;
  Device device;
  bool is_view = false;
  InlineVector<Edge, 3> inputs;

  // Used by the walk of one backward() at a time.
  std::atomic<const void*> walker{nullptr};
  bool needed = false;
  Tensor dy;

 protected:
  /// A chain of a hundred thousand nodes goes away in a loop, not by recursion.
  void destroy() override;
};

}  // namespace tern
