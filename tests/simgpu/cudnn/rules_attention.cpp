#include <tern/tests/simgpu/cudnn/rules.h>

#include <algorithm>

namespace simdnn {
namespace {

bool is_matmul(const Operation& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
}

int64_t count_pointwise(const OperationGraph& graph, cudnnPointwiseMode_t mode) {
  return std::count_if(graph.operations.begin(), graph.operations.end(), [mode](const auto& operation) {
    return is_pointwise(*operation) && operation->mode == mode;
  });
}

int64_t count_reductions(const OperationGraph& graph, cudnnReduceTensorOp_t mode) {
  return std::count_if(graph.operations.begin(), graph.operations.end(), [mode](const auto& operation) {
    return is_reduction(*operation) && operation->mode == mode;
  });
}

/// All tensors that a matmul has in memory: q, k, v, the result, gradients.
std::vector<std::shared_ptr<const Tensor>> matrices(const OperationGraph& graph) {
  std::vector<std::shared_ptr<const Tensor>> result;
  for (const auto& operation : graph.operations) {
    if (!is_matmul(*operation)) continue;
    for (const Port& port : operation->ports) {
      if (!port.tensor->is_virtual) result.push_back(port.tensor);
    }
  }
  return result;
}

/// The longer of a head's sizes; k comes with its last dimensions exchanged, or as it is.
int64_t head_size(const std::vector<std::shared_ptr<const Tensor>>& matrices) {
  int64_t most = 0;
  for (const auto& tensor : matrices) most = std::max(most, tensor->dims[tensor->strides[2] == 1 ? 2 : 3]);
  return most;
}

std::string rule_matrices(const std::vector<std::shared_ptr<const Tensor>>& matrices, bool may_be_float) {
  for (const auto& tensor : matrices) {
    if (tensor->rank() != 4) return "not 4 dimensions";
    if (tensor->dtype != matrices.front()->dtype) return "mixed types";
    if (!is_fusable(tensor->dtype) || (tensor->dtype == CUDNN_DATA_FLOAT && !may_be_float))
      return dtype_name(tensor->dtype);
    if (tensor->strides[2] != 1 && tensor->strides[3] != 1) return "a head's numbers are not neighbours";
    if (tensor->dims[tensor->strides[2] == 1 ? 2 : 3] % 8 != 0) return "a head's size is no multiple of 8";
  }
  return "";
}

}  // namespace

std::string rule_attention(const OperationGraph& graph, int capability) {
  if (graph.operations.size() == 1 &&
      graph.operations[0]->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR) {
    const Operation& operation = *graph.operations[0];
    std::vector<std::shared_ptr<const Tensor>> all;
    for (const auto role : {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                            CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC}) {
      all.push_back(operation.at(role));
    }
    return rule_matrices(all, true);
  }
  const bool softmax = count_reductions(graph, CUDNN_REDUCE_TENSOR_MAX) == 1 &&
                       count_reductions(graph, CUDNN_REDUCE_TENSOR_ADD) == 1 &&
                       count_pointwise(graph, CUDNN_POINTWISE_EXP) == 1 &&
                       count_pointwise(graph, CUDNN_POINTWISE_LOG) == 1;
  if (count_of(graph, is_matmul) != 2 || !softmax)
    return "not two matmuls with a softmax and its statistics between";
  const auto all = matrices(graph);
  if (const std::string wrong = rule_matrices(all, true); !wrong.empty()) return wrong;
  const bool is_float = all.front()->dtype == CUDNN_DATA_FLOAT;
  return is_float && capability < 90 && head_size(all) > 256 ? "a head of more than 256 numbers" : "";
}

std::string rule_attention_backward(const OperationGraph& graph, int capability) {
  if (count_of(graph, is_matmul) != 5 || count_reductions(graph, CUDNN_REDUCE_TENSOR_ADD) < 1 ||
      count_pointwise(graph, CUDNN_POINTWISE_EXP) != 1) {
    return "not the five matmuls of attention's gradient";
  }
  const auto all = matrices(graph);
  if (const std::string wrong = rule_matrices(all, false); !wrong.empty()) return wrong;
  const int64_t most = capability >= 90 && capability < 100 ? 256 : 128;
  return head_size(all) > most ? "a head of more than " + std::to_string(most) + " numbers" : "";
}

}  // namespace simdnn
