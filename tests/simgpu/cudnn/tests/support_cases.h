// Operation graphs of every family, with names: what the simulated library is asked to plan beside the real
// one.

#pragma once

#include <tern/tests/simgpu/cudnn/tests/graph.h>

#include <functional>

namespace drive {

struct SupportCase {
  std::string name;
  std::function<Graph()> graph;
};

std::vector<SupportCase> convolution_cases();
std::vector<SupportCase> fused_convolution_cases();
std::vector<SupportCase> pointwise_cases();
std::vector<SupportCase> matmul_cases();
std::vector<SupportCase> reduction_cases();
std::vector<SupportCase> resample_cases();
std::vector<SupportCase> norm_cases();
std::vector<SupportCase> rearrange_cases();
std::vector<SupportCase> attention_cases();

/// float, half, … of cuDNN's type.
std::string name_of(cudnnDataType_t dtype);

}  // namespace drive
