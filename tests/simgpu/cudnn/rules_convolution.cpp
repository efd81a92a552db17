#include <tern/tests/simgpu/cudnn/rules.h>

#include <algorithm>

namespace simdnn {
namespace {

bool is_forward(const Operation& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
}

bool is_backward_filter(const Operation& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

/// The types that a convolution's tensors may have together.
std::string rule_types(const Operation& operation, const ConvolutionTensors& t) {
  const cudnnDataType_t type = t.x->dtype;
  if (type == CUDNN_DATA_INT8 && t.w->dtype == type && is_forward(operation)) {
    const bool result =
        t.y->dtype == type || t.y->dtype == CUDNN_DATA_INT32 || t.y->dtype == CUDNN_DATA_FLOAT;
    return result && operation.compute == CUDNN_DATA_INT32
               ? ""
               : "int8 that is computed in another type than int32";
  }
  if (t.w->dtype != type || t.y->dtype != type) return "mixed types";
  if (type == CUDNN_DATA_DOUBLE)
    return operation.compute == type ? "" : "double that is computed in another type";
  if (type == CUDNN_DATA_HALF && operation.compute == type) return "";
  return is_fusable(type) && operation.compute == CUDNN_DATA_FLOAT ? "" : dtype_name(type);
}

/// Sizes that tensor cores ask of a fused backward pass.
std::string rule_backward_sizes(const Operation& operation, const ConvolutionTensors& t, int capability) {
  const cudnnDataType_t type = t.y->dtype;
  const int64_t groups = t.groups();
  if (is_backward_filter(operation)) {
    if (capability < 100) return "operations behind a filter's gradient need capability 10.0";
    const int64_t bytes = t.w->dims[1] * static_cast<int64_t>(element_size(type));
    return bytes % 16 == 0 ? "" : "channels of a group are no multiple of 16 bytes";
  }
  const bool odd = t.x->dims[1] % 2 != 0 || t.y->dims[1] % 2 != 0;
  return type == CUDNN_DATA_BFLOAT16 && (odd || groups != 1) ? "bfloat16 of groups or odd channels" : "";
}

/// What is fused before a convolution has the type that lies in memory.
std::string rule_prologue(const OperationGraph& graph, const Operation& operation,
                          const ConvolutionTensors& t) {
  if (!is_forward(operation)) {
    const Tensor& other = is_backward_filter(operation) ? *t.x : *t.w;
    return t.y->is_virtual || other.is_virtual ? "operations before a backward pass" : "";
  }
  if (t.w->is_virtual) return "operations on a filter";
  if (!t.x->is_virtual) return "";
  for (const auto& input : graph.inputs) {
    if (!input->by_value && input->dtype != t.x->dtype)
      return "a virtual x of another type than what lies in memory";
  }
  return t.x->dtype != CUDNN_DATA_FLOAT && t.x->dims[1] % 2 != 0 ? "odd channels behind operations" : "";
}

}  // namespace

ConvolutionTensors convolution_tensors(const Operation& operation) {
  if (is_forward(operation)) {
    return {operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
            operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
            operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)};
  }
  if (is_backward_filter(operation)) {
    return {operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X),
            operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
            operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY)};
  }
  return {operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX),
          operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
          operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY)};
}

std::string rule_convolution(const OperationGraph& graph, int) {
  if (graph.operations.size() != 1 || !is_convolution(*graph.operations.front()))
    return "not one convolution";
  const Operation& operation = *graph.operations.front();
  return rule_types(operation, convolution_tensors(operation));
}

std::string rule_convolution_bias(const OperationGraph& graph, int) {
  const auto& all = graph.operations;
  if (all.size() < 2 || all.size() > 3 || !is_forward(*all[0]) || !is_pointwise(*all[1])) {
    return "no forward convolution with a bias";
  }
  const ConvolutionTensors t = convolution_tensors(*all[0]);
  const auto bias = all[1]->at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (all[1]->mode != CUDNN_POINTWISE_ADD || bias->count() != t.y->dims[1] || !t.y->is_virtual)
    return "no bias";
  if (all[1]->at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)->uid != t.y->uid) return "no bias";
  if (all.size() == 3 && all[2]->mode != CUDNN_POINTWISE_RELU_FWD) return "no relu";
  const auto y = all.back()->at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const bool same = t.w->dtype == t.x->dtype && bias->dtype == t.x->dtype && y->dtype == t.x->dtype;
  return same && is_fusable(t.x->dtype) && !t.x->is_virtual ? "" : "mixed types";
}

std::string rule_convolution_fusion(const OperationGraph& graph, int capability) {
  const Operation* operation = only(graph, is_convolution);
  if (operation == nullptr) return "not one convolution";
  const int64_t reductions = count_of(graph, is_reduction);
  if (count_of(graph, is_pointwise) + reductions + 1 != static_cast<int64_t>(graph.operations.size())) {
    return "more than a convolution, pointwise operations and reductions";
  }
  const ConvolutionTensors t = convolution_tensors(*operation);
  const bool forward = is_forward(*operation);
  const Tensor& given = forward ? *t.w : *t.y;
  if (!is_fusable(given.dtype) || operation->compute != CUDNN_DATA_FLOAT) return dtype_name(given.dtype);
  const bool widens = forward && t.y->dtype == CUDNN_DATA_FLOAT && given.dtype != CUDNN_DATA_FLOAT;
  if (graph.operations.size() == 1 && !widens) return "a convolution alone";
  for (const Tensor* tensor : {t.x.get(), t.w.get(), t.y.get()}) {
    if (!tensor->is_virtual && tensor->dtype != given.dtype && !(widens && tensor == t.y.get()))
      return "mixed types";
  }
  for (const auto& [uid, tensor] : graph.tensors) {
    if (tensor->rank() > 3 && !has_channels_last(*tensor)) return "no channels last: " + describe(*tensor);
  }
  if (const std::string wrong = rule_prologue(graph, *operation, t); !wrong.empty()) return wrong;
  const bool odd = t.x->dims[1] % 2 != 0 || t.y->dims[1] % 2 != 0;
  if (reductions != 0 && (t.groups() != 1 || (!forward && odd && given.dtype != CUDNN_DATA_FLOAT))) {
    return "a reduction behind groups or odd channels";
  }
  if (reductions != 0 && is_backward_filter(*operation)) return "a reduction behind a filter's gradient";
  const Tensor& result = forward ? *t.y : is_backward_filter(*operation) ? *t.w : *t.x;
  if (forward || !result.is_virtual) return "";
  return rule_backward_sizes(*operation, t, capability);
}

}  // namespace simdnn
