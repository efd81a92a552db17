// Which graphs have an engine: the support matrix of cuDNN 9.19 as far as it is simulated. The test
// simgpu_cudnn_support asks the real library the same questions. Any thread may call these functions.

#pragma once

#include <tern/tests/simgpu/cudnn/graph.h>

namespace simdnn {

/// Engines that do the graph on a device of a compute capability (80, 90, …), best first; none where cuDNN
/// has none, and where SIMGPU_CUDNN_NO_ENGINE forbids them: "all", or names of engines with commas between.
std::vector<Engine> engines_of(const OperationGraph& graph, int capability);

/// The engine of a number; throws NOT_SUPPORTED, saying why, where it isn't among engines_of.
Engine find_engine(const OperationGraph& graph, int capability, int64_t index);

/// Why the graph has no engine: what each of the engines finds wrong.
std::string why_no_engine(const OperationGraph& graph, int capability);

}  // namespace simdnn
