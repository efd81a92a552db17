#include <tern/tests/simgpu/cudnn/rules.h>

#include <algorithm>

namespace simdnn {
namespace {

bool is_of(const Operation& operation, cudnnBackendDescriptorType_t type) { return operation.type == type; }

/// Reductions are fused into what has channels last, and leave a float a channel or one for all.
std::string rule_reduction(const Operation& operation) {
  const Tensor& x = operation.need(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  const Tensor& y = operation.need(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  if (y.dtype != CUDNN_DATA_FLOAT) return "a reduction's result is not float";
  const auto mode = operation.mode;
  if (mode != CUDNN_REDUCE_TENSOR_ADD && mode != CUDNN_REDUCE_TENSOR_MAX && mode != CUDNN_REDUCE_TENSOR_MIN &&
      mode != CUDNN_REDUCE_TENSOR_AMAX) {
    return "no such reduction";
  }
  if (x.rank() < 4) return "a reduction of matrices";
  for (size_t d = 0; d < y.rank(); d++) {
    if (y.dims[d] != 1 && d != 1) return "a reduction to more than the channels";
  }
  return has_channels_last(x) ? "" : "a reduction of a tensor without channels last";
}

}  // namespace

bool is_convolution(const Operation& operation) {
  return is_of(operation, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) ||
         is_of(operation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) ||
         is_of(operation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
}

bool is_pointwise(const Operation& operation) {
  return is_of(operation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
}

bool is_reduction(const Operation& operation) {
  return is_of(operation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
}

int64_t count_of(const OperationGraph& graph, bool (*is)(const Operation&)) {
  return std::count_if(graph.operations.begin(), graph.operations.end(),
                       [is](const auto& operation) { return is(*operation); });
}

const Operation* only(const OperationGraph& graph, bool (*is)(const Operation&)) {
  if (count_of(graph, is) != 1) return nullptr;
  return std::find_if(graph.operations.begin(), graph.operations.end(),
                      [is](const auto& operation) { return is(*operation); })
      ->get();
}

bool has_channels_last(const Tensor& tensor) {
  return tensor.rank() < 3 || tensor.dims[1] == 1 || tensor.strides[1] == 1;
}

bool is_fusable(cudnnDataType_t dtype) {
  return dtype == CUDNN_DATA_FLOAT || dtype == CUDNN_DATA_HALF || dtype == CUDNN_DATA_BFLOAT16;
}

std::string rule_pointwise_fusion(const OperationGraph& graph, int) {
  if (count_of(graph, is_pointwise) + count_of(graph, is_reduction) !=
      static_cast<int64_t>(graph.operations.size())) {
    return "more than pointwise operations and reductions";
  }
  for (const auto& operation : graph.operations) {
    const bool integer =
        operation->compute == CUDNN_DATA_BOOLEAN || operation->mode == CUDNN_POINTWISE_GEN_INDEX;
    if (operation->compute != CUDNN_DATA_FLOAT && !integer) return "not computed in float";
    if (is_reduction(*operation)) {
      if (const std::string wrong = rule_reduction(*operation); !wrong.empty()) return wrong;
    }
  }
  int64_t most = 0;
  for (const auto& [uid, tensor] : graph.tensors) {
    if (tensor->rank() > 5) return "more than 5 dimensions";
    if (tensor->rank() > 3 && tensor->strides[1] != 1 && tensor->count() != 1)
      return "no channels last: " + describe(*tensor);
    if (tensor->rank() <= 3 && tensor->dims.back() != 1 && tensor->strides.back() != 1) {
      return "a last dimension that is not innermost: " + describe(*tensor);
    }
    most = std::max(most, tensor->count());
  }
  return most == 1 ? "one element" : "";
}

std::string rule_matmul_fusion(const OperationGraph& graph, int) {
  const Operation* matmul = only(graph, [](const Operation& operation) {
    return is_of(operation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  });
  if (matmul == nullptr) return "not one matmul";
  if (count_of(graph, is_pointwise) + 1 != static_cast<int64_t>(graph.operations.size())) {
    return "more than a matmul and pointwise operations";
  }
  const Tensor& a = matmul->need(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  const Tensor& b = matmul->need(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  if (a.is_virtual || b.is_virtual) return "operations before the matmul";
  if (a.dtype != b.dtype) return "a and b differ in type";
  const bool integers = a.dtype == CUDNN_DATA_INT8 && matmul->compute == CUDNN_DATA_INT32;
  if (!integers && !(is_fusable(a.dtype) && matmul->compute == CUDNN_DATA_FLOAT)) {
    return dtype_name(a.dtype) + " computed in " + dtype_name(matmul->compute);
  }
  const bool plain_float = graph.operations.size() == 1 && a.dtype == CUDNN_DATA_FLOAT;
  return a.rank() == 3 || (a.rank() == 2 && plain_float) ? "" : std::to_string(a.rank()) + " dimensions";
}

std::string rule_resample(const OperationGraph& graph, int) {
  if (graph.operations.size() != 1) return "not one operation";
  const Operation& operation = *graph.operations.front();
  const bool forward = is_of(operation, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  if (!forward && !is_of(operation, CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR)) return "no resampling";
  const bool max = operation.mode == CUDNN_RESAMPLE_MAXPOOL;
  const Tensor& x = operation.need(forward ? CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC
                                           : CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC);
  const Tensor& y = operation.need(forward ? CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC
                                           : CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC);
  if (x.dtype != y.dtype) return "x and y differ in type";
  const bool last = has_channels_last(x) && has_channels_last(y);
  if (!forward && max) {
    if (operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC) == nullptr) return "no index";
    if (!last) return "no channels last";
  }
  if (x.dtype == CUDNN_DATA_DOUBLE) return last ? "double with channels last" : "";
  return is_fusable(x.dtype) ? "" : dtype_name(x.dtype);
}

std::string rule_batch_norm(const OperationGraph& graph, int) {
  if (graph.operations.size() != 1) return "not one operation";
  const Operation& operation = *graph.operations.front();
  const bool forward = is_of(operation, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  if (!forward && !is_of(operation, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR)) return "no norm";
  if (operation.mode != CUDNN_BATCH_NORM) return "no batch norm";
  if (forward && operation.phase == CUDNN_NORM_FWD_INFERENCE) return "inference";
  const Tensor& x =
      operation.need(forward ? CUDNN_ATTR_OPERATION_NORM_FWD_XDESC : CUDNN_ATTR_OPERATION_NORM_BWD_XDESC);
  if (!is_fusable(x.dtype)) return dtype_name(x.dtype);
  if (x.rank() < 4) return std::to_string(x.rank()) + " dimensions";
  const int64_t bytes = x.dims[1] * static_cast<int64_t>(element_size(x.dtype));
  return bytes % 16 == 0 ? "" : "the channels are no multiple of 16 bytes";
}

std::string rule_norm(const OperationGraph& graph, int) {
  if (graph.operations.size() != 1) return "not one operation";
  const Operation& operation = *graph.operations.front();
  const bool forward = is_of(operation, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  if (!forward && !is_of(operation, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR)) return "no norm";
  if (operation.mode == CUDNN_BATCH_NORM) return "batch norm";
  const Tensor& x =
      operation.need(forward ? CUDNN_ATTR_OPERATION_NORM_FWD_XDESC : CUDNN_ATTR_OPERATION_NORM_BWD_XDESC);
  return is_fusable(x.dtype) ? "" : dtype_name(x.dtype);
}

}  // namespace simdnn
