#include <tern/autograd/anomaly.h>

#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <algorithm>
#include <string>

namespace tern {
namespace {

thread_local bool enabled_here = false;

bool has_nan(const Tensor& x) { return kernels::any(kernels::compare(NotEqual{}, x, x)).item<bool>(); }

// The operations from the one that took the node's result to the last: of several, the first recorded.
std::string path_from(const Node& node, const std::vector<Node*>& nodes) {
  std::string path;
  const Node* from = &node;
  for (auto next = nodes.rbegin(); next != nodes.rend(); ++next) {
    const auto& inputs = (*next)->inputs;
    if (std::none_of(inputs.begin(), inputs.end(), [&](const Edge& edge) { return edge.node.get() == from; }))
      continue;
    path += (path.empty() ? "" : ", ") + std::string((*next)->name);
    from = *next;
  }
  return path.empty() ? "nothing else" : path;
}

}  // namespace

bool is_anomaly_detected() { return enabled_here; }

AnomalyGuard::AnomalyGuard(bool enabled) : before_(enabled_here) { enabled_here = enabled; }

AnomalyGuard::~AnomalyGuard() { enabled_here = before_; }

void detail::check_gradients(const Node& node, const Gradients& gradients, Wants wants,
                             const std::vector<Node*>& nodes) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!wants[i] || !gradients[i].defined() || !has_nan(gradients[i])) continue;
    check(false, "backward of ", node.name, " gave NaN in the gradient of its input ", i, ", of shape ",
          gradients[i].shape(), "; the gradient of its result, of shape ", node.shape,
          has_nan(node.dy) ? ", held NaN already" : ", held none", "; its result went into ",
          path_from(node, nodes));
  }
}

}  // namespace tern
