// What the engines of the support matrix ask of a graph: each rule answers what is wrong, "" where nothing
// is. Found by asking cuDNN 9.19 itself, for devices of capability 8.0, 9.0 and 10.0.

#pragma once

#include <tern/tests/simgpu/cudnn/graph.h>

namespace simdnn {

using Rule = std::string (*)(const OperationGraph& graph, int capability);

std::string rule_convolution(const OperationGraph& graph, int capability);
std::string rule_convolution_bias(const OperationGraph& graph, int capability);
std::string rule_convolution_fusion(const OperationGraph& graph, int capability);
std::string rule_pointwise_fusion(const OperationGraph& graph, int capability);
std::string rule_matmul_fusion(const OperationGraph& graph, int capability);
std::string rule_resample(const OperationGraph& graph, int capability);
std::string rule_batch_norm(const OperationGraph& graph, int capability);
std::string rule_norm(const OperationGraph& graph, int capability);
std::string rule_attention(const OperationGraph& graph, int capability);
std::string rule_attention_backward(const OperationGraph& graph, int capability);

// What several rules look at.

bool is_convolution(const Operation& operation);
bool is_pointwise(const Operation& operation);
bool is_reduction(const Operation& operation);
int64_t count_of(const OperationGraph& graph, bool (*is)(const Operation&));
/// The only operation for which `is` holds; nullptr where there is none or more than one.
const Operation* only(const OperationGraph& graph, bool (*is)(const Operation&));
/// Channels are innermost, or there is but one.
bool has_channels_last(const Tensor& tensor);
/// float, half or bfloat16.
bool is_fusable(cudnnDataType_t dtype);

/// x, w and y of a convolution of any kind.
struct ConvolutionTensors {
  std::shared_ptr<const Tensor> x, w, y;
  int64_t groups() const { return x->dims[1] / w->dims[1]; }
};
ConvolutionTensors convolution_tensors(const Operation& operation);

}  // namespace simdnn
