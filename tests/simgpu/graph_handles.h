// Handles of graphs, their nodes and what is instantiated of them. All functions want the lock of world.h.
#pragma once

#include <tern/tests/simgpu/capture.h>

namespace simgpu {

cudaGraph_t add_graph(std::shared_ptr<Graph> graph);
cudaGraphExec_t add_program(std::unique_ptr<GraphProgram> program);

/// Null and a report for what is no handle, or no longer one.
Graph* find_graph(cudaGraph_t handle);
GraphProgram* find_program(cudaGraphExec_t handle);

/// The graph that has the node, and its number there; false for what is no node.
bool find_node(cudaGraphNode_t handle, Graph*& graph, size_t& number);

void remove_graph(cudaGraph_t handle);
void remove_program(cudaGraphExec_t handle);

int64_t live_graphs();
int64_t live_programs();

inline cudaGraphNode_t handle_of(const std::shared_ptr<Node>& node) {
  return reinterpret_cast<cudaGraphNode_t>(node.get());
}

}  // namespace simgpu
