#include <tern/tests/simgpu/cudnn/engines.h>
#include <tern/tests/simgpu/cudnn/rules.h>

#include <cstdlib>

namespace simdnn {
namespace {

int64_t bytes_of(const Tensor& tensor) {
  const int64_t bytes = tensor.count() * static_cast<int64_t>(element_size(tensor.dtype));
  return (bytes + 255) / 256 * 256;
}

int64_t no_workspace(const OperationGraph&) { return 0; }

/// Tensor cores want channels last: other layouts are rearranged first, and gradients of filters added up in
/// parts.
int64_t convolution_workspace(const OperationGraph& graph) {
  int64_t bytes = 0;
  for (const auto& [uid, tensor] : graph.tensors) {
    if (!has_channels_last(*tensor)) bytes += bytes_of(*tensor);
  }
  const Operation& operation = *graph.operations.front();
  const bool filter = operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  return bytes + (filter ? 2 * bytes_of(*graph.outputs.front()) : 0);
}

/// Sums of every channel.
int64_t norm_workspace(const OperationGraph& graph) { return 256 + graph.outputs.front()->dims[1] * 8; }

/// The gradient of q is added up in float.
int64_t attention_workspace(const OperationGraph& graph) {
  int64_t most = 0;
  for (const auto& tensor : graph.outputs) most = std::max(most, tensor->count());
  return 4 * most;
}

/// Tensor cores round float to fewer bits; sums of a gradient's parts come in any order.
std::vector<cudnnBackendNumericalNote_t> convolution_notes(const OperationGraph& graph) {
  const Operation& operation = *only(graph, is_convolution);
  const ConvolutionTensors t = convolution_tensors(operation);
  std::vector<cudnnBackendNumericalNote_t> notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  if (t.x->dtype == CUDNN_DATA_DOUBLE) notes.clear();
  if (t.x->dtype == CUDNN_DATA_FLOAT) notes.push_back(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  const bool filter = operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  if (filter) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return notes;
}

std::vector<cudnnBackendNumericalNote_t> no_notes(const OperationGraph&) { return {}; }

std::vector<cudnnBackendNumericalNote_t> tensor_core_notes(const OperationGraph&) {
  return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
}

std::vector<cudnnBackendNumericalNote_t> attention_backward_notes(const OperationGraph&) {
  return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
}

struct Row {
  int64_t index;
  const char* name;
  bool compiles;
  Rule rule;
  int64_t (*workspace)(const OperationGraph&);
  std::vector<cudnnBackendNumericalNote_t> (*notes)(const OperationGraph&);
};

// The support matrix: what each engine does is in its rule.
constexpr Row rows[] = {
    {10, "convolution", false, rule_convolution, convolution_workspace, convolution_notes},
    {0, "convolution_direct", false, rule_convolution, no_workspace, no_notes},
    {11, "convolution_bias", false, rule_convolution_bias, no_workspace, convolution_notes},
    {20, "convolution_fusion", true, rule_convolution_fusion, no_workspace, convolution_notes},
    {21, "pointwise_fusion", true, rule_pointwise_fusion, no_workspace, no_notes},
    {22, "matmul_fusion", true, rule_matmul_fusion, no_workspace, tensor_core_notes},
    {30, "resample", false, rule_resample, no_workspace, no_notes},
    {40, "batch_norm", true, rule_batch_norm, norm_workspace, no_notes},
    {41, "norm", false, rule_norm, no_workspace, no_notes},
    {50, "attention", true, rule_attention, no_workspace, tensor_core_notes},
    {51, "attention_backward", true, rule_attention_backward, attention_workspace, attention_backward_notes},
};

bool is_forbidden(const char* name) {
  const char* value = std::getenv("SIMGPU_CUDNN_NO_ENGINE");
  if (value == nullptr) return false;
  const std::string names = "," + std::string(value) + ",";
  return names == ",all," || names.find("," + std::string(name) + ",") != std::string::npos;
}

/// What no engine does.
std::string general_rule(const OperationGraph& graph) {
  for (const auto& operation : graph.operations) {
    if (!operation->missing.empty()) return operation->missing;
  }
  for (const auto& [uid, tensor] : graph.tensors) {
    if (tensor->is_special) {
      return "ragged, vectorised or reordered tensors and types of 8 bits and less are not simulated: " +
             describe(*tensor);
    }
  }
  return "";
}

std::string rule_of(const Row& row, const OperationGraph& graph, int capability) {
  if (is_forbidden(row.name)) return "forbidden by SIMGPU_CUDNN_NO_ENGINE";
  return row.rule(graph, capability);
}

}  // namespace

std::vector<Engine> engines_of(const OperationGraph& graph, int capability) {
  std::vector<Engine> found;
  if (!general_rule(graph).empty()) return found;
  for (const Row& row : rows) {
    if (rule_of(row, graph, capability).empty()) {
      found.push_back({row.index, row.name, row.workspace(graph), row.compiles, row.notes(graph)});
    }
  }
  return found;
}

Engine find_engine(const OperationGraph& graph, int capability, int64_t index) {
  for (const Engine& engine : engines_of(graph, capability)) {
    if (engine.index == index) return engine;
  }
  throw Failure(CUDNN_STATUS_NOT_SUPPORTED, "engine " + std::to_string(index) + " does not do the graph: " +
                                                why_no_engine(graph, capability));
}

std::string why_no_engine(const OperationGraph& graph, int capability) {
  if (const std::string wrong = general_rule(graph); !wrong.empty()) return wrong;
  std::string text;
  for (const Row& row : rows) {
    const std::string wrong = rule_of(row, graph, capability);
    if (!wrong.empty()) text += (text.empty() ? "" : "; ") + std::string(row.name) + ": " + wrong;
  }
  return text;
}

}  // namespace simdnn
