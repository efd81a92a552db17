#include <tern/tests/simgpu/cudnn/graph.h>

#include <algorithm>
#include <set>

namespace simdnn {
namespace {

/// A number may be used again for another view of the same memory: a matrix and its transpose.
void add_view(OperationGraph& graph, const Tensor& first, const std::shared_ptr<const Tensor>& view) {
  const bool same = first.dtype == view->dtype && first.count() == view->count() &&
                    first.span() == view->span() && !first.is_virtual && !view->is_virtual &&
                    first.by_value == view->by_value && first.alignment == view->alignment;
  demand(same, "two tensors have one number: " + describe(first) + "; " + describe(*view));
  const auto is_known = [&](const auto& known) { return *known == *view; };
  if (std::none_of(graph.views.begin(), graph.views.end(), is_known)) graph.views.push_back(view);
}

void collect_tensors(OperationGraph& graph) {
  for (const auto& operation : graph.operations) {
    for (const Port& port : operation->ports) {
      const Tensor& first = *graph.tensors.emplace(port.tensor->uid, port.tensor).first->second;
      if (first != *port.tensor) add_view(graph, first, port.tensor);
      if (!port.is_output) continue;
      demand(graph.writers.emplace(port.tensor->uid, operation.get()).second,
             CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "two operations write " + describe(*port.tensor));
    }
  }
}

/// Puts each operation behind those that write what it reads.
void sort_operations(OperationGraph& graph) {
  std::vector<std::shared_ptr<const Operation>> sorted;
  std::set<int64_t> missing;
  for (const auto& [uid, writer] : graph.writers) missing.insert(uid);
  std::vector<std::shared_ptr<const Operation>> waiting = graph.operations;
  while (!waiting.empty()) {
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const auto& operation) {
      return std::none_of(operation->ports.begin(), operation->ports.end(), [&](const Port& port) {
        return !port.is_output && missing.count(port.tensor->uid) != 0;
      });
    });
    demand(ready != waiting.end(), "the operations need each other's results in a circle");
    for (const Port& port : (*ready)->ports) {
      if (port.is_output) missing.erase(port.tensor->uid);
    }
    sorted.push_back(*ready);
    waiting.erase(ready);
  }
  graph.operations = std::move(sorted);
}

/// What is written has each element at a place of its own.
void check_strides(const Tensor& tensor) {
  std::vector<size_t> order;
  for (size_t d = 0; d < tensor.rank(); d++) {
    if (tensor.dims[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  int64_t behind = 0;
  for (const size_t d : order) {
    demand(tensor.strides[d] > behind,
           "the strides let elements overlap, yet they are written: " + describe(tensor));
    behind += (tensor.dims[d] - 1) * tensor.strides[d];
  }
}

void sort_tensors(OperationGraph& graph) {
  std::set<int64_t> added_to;
  for (const auto& operation : graph.operations) {
    for (const Port& port : operation->ports) {
      if (port.is_output && operation->adds_to_output) added_to.insert(port.tensor->uid);
    }
  }
  for (const auto& [uid, tensor] : graph.tensors) {
    const bool written = graph.writers.count(uid) != 0;
    demand(!tensor->is_virtual || written, describe(*tensor) + " is virtual, but no operation writes it");
    demand(!tensor->is_virtual || added_to.count(uid) == 0,
           describe(*tensor) + " is virtual, but is added to");
    if (tensor->is_virtual) continue;
    if (written) graph.outputs.push_back(tensor);
    if (!written || added_to.count(uid) != 0) graph.inputs.push_back(tensor);
  }
  for (const auto& view : graph.views) {
    demand(graph.writers.count(view->uid) == 0, describe(*view) + " is written, but not by this view");
    graph.inputs.push_back(view);
  }
  for (const auto& tensor : graph.outputs) check_strides(*tensor);
}

}  // namespace

std::shared_ptr<const OperationGraph> make_graph(std::vector<std::shared_ptr<const Operation>> operations) {
  auto graph = std::make_shared<OperationGraph>();
  graph->operations = std::move(operations);
  collect_tensors(*graph);
  sort_operations(*graph);
  sort_tensors(*graph);
  return graph;
}

}  // namespace simdnn
