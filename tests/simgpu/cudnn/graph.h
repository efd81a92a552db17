// A finalised operation graph, and what a plan adds: the engine and its workspace. Immutable.

#pragma once

#include <tern/tests/simgpu/cudnn/operation.h>

namespace simdnn {

struct OperationGraph {
  std::vector<std::shared_ptr<const Operation>> operations;  // in an order in which each has its inputs
  std::map<int64_t, std::shared_ptr<const Tensor>> tensors;  // by number
  std::vector<std::shared_ptr<const Tensor>> views;          // of the same memory as a tensor of that number
  std::map<int64_t, const Operation*> writers;               // of the tensors that are written

  /// Tensors in memory that are read before anything is written; tensors in memory that are written.
  std::vector<std::shared_ptr<const Tensor>> inputs, outputs;
};

/// Checks that the operations make a graph; throws Failure.
std::shared_ptr<const OperationGraph> make_graph(std::vector<std::shared_ptr<const Operation>> operations);

struct Engine {
  int64_t index;
  const char* name;
  int64_t workspace_bytes;  // for one graph
  bool compiles;            // at run time
  std::vector<cudnnBackendNumericalNote_t> notes = {};
};

struct Plan {
  std::shared_ptr<const OperationGraph> graph;
  Engine engine;
  int device = -1;  // -1: of properties, not of a handle
};

}  // namespace simdnn
