#include <tern/tests/simgpu/graph_handles.h>
#include <tern/tests/simgpu/report.h>

#include <map>

namespace simgpu {
namespace {

struct Handles {
  std::map<cudaGraph_t, std::shared_ptr<Graph>> graphs;
  std::map<cudaGraphExec_t, std::unique_ptr<GraphProgram>> programs;
};

Handles& handles() {
  static Handles& result = *new Handles;
  return result;
}

}  // namespace

cudaGraph_t add_graph(std::shared_ptr<Graph> graph) {
  const auto handle = reinterpret_cast<cudaGraph_t>(graph.get());
  handles().graphs[handle] = std::move(graph);
  return handle;
}

cudaGraphExec_t add_program(std::unique_ptr<GraphProgram> program) {
  const auto handle = reinterpret_cast<cudaGraphExec_t>(program.get());
  handles().programs[handle] = std::move(program);
  return handle;
}

Graph* find_graph(cudaGraph_t handle) {
  const auto found = handles().graphs.find(handle);
  if (found != handles().graphs.end()) return found->second.get();
  report("a graph handle is used that is no graph, or no longer one");
  return nullptr;
}

GraphProgram* find_program(cudaGraphExec_t handle) {
  const auto found = handles().programs.find(handle);
  if (found != handles().programs.end()) return found->second.get();
  report("a handle of an executable graph is used that is none, or no longer one");
  return nullptr;
}

bool find_node(cudaGraphNode_t handle, Graph*& graph, size_t& number) {
  for (const auto& [key, owner] : handles().graphs) {
    for (size_t index = 0; index < owner->nodes.size(); ++index) {
      if (handle_of(owner->nodes[index]) != handle) continue;
      graph = owner.get();
      number = index;
      return true;
    }
  }
  report("a handle of a graph's node is used that is none, or no longer one");
  return false;
}

void remove_graph(cudaGraph_t handle) { handles().graphs.erase(handle); }
void remove_program(cudaGraphExec_t handle) { handles().programs.erase(handle); }

int64_t live_graphs() { return static_cast<int64_t>(handles().graphs.size()); }
int64_t live_programs() { return static_cast<int64_t>(handles().programs.size()); }

}  // namespace simgpu
