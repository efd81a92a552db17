#include <tern/autograd/node.h>

namespace tern {
namespace {

std::atomic<uint64_t> sequences{1};

// Nodes whose last owner let go while another node was being taken down.
struct Doomed {
  InlineVector<Node*, 16> waiting;
  bool busy = false;
};
thread_local Doomed doomed;

}  // namespace

uint64_t next_sequence() { return sequences.load(std::memory_order_relaxed); }

Edge edge_to(const Tensor& input) {
  if (!input.defined() || !input.requires_grad()) return {};
  if (input.is_leaf()) return {nullptr, input.impl()};
  return {Ref<Node>(static_cast<Node*>(input.impl()->origin.get())), nullptr};
}

Node::Node(const char* operation, const Tensor& output)
    : name(operation),
      sequence(sequences.fetch_add(1, std::memory_order_relaxed)),
      shape(output.shape()),
      dtype(output.dtype()),
      device(output.device()) {}

void Node::destroy() {
  doomed.waiting.push_back(this);
  if (doomed.busy) return;
  doomed.busy = true;
  while (!doomed.waiting.empty()) {
    Node* node = doomed.waiting.back();
    doomed.waiting.resize(doomed.waiting.size() - 1);
    delete node;
  }
  doomed.busy = false;
}

}  // namespace tern
