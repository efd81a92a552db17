// CUDA graphs: work kept for later, with its order; and the capture of streams, which makes graphs of what
// would have been queued. All functions want the lock of world.h.
#pragma once

#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/tasks.h>

#include <set>
#include <thread>

namespace simgpu {

struct Stream;

struct Node {
  Work work;
  std::vector<size_t> after;  // smaller numbers than its own, unless the program built the graph itself
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;
};

/// A graph that can be launched: a copy of the nodes, a lane for each chain of them.
struct GraphProgram {
  std::vector<Node> nodes;
  std::vector<const Node*> sources;  // the nodes that these are copies of; perhaps gone
  std::vector<size_t> order;         // a topological order
  std::vector<int> lanes;            // of each node
  TaskPointer last;                  // launches of one program run one after another
  ~GraphProgram();
};

struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Stream* origin = nullptr;
  std::set<Stream*> streams;  // that have joined, the origin included
  bool valid = true;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread = std::this_thread::get_id();
  uint64_t number = 0;
};

/// Makes a node of the work behind the stream's last ones.
void capture_work(Stream& stream, Work work);

/// Nodes of the graph in an order that follows its edges; empty for a graph with a cycle.
std::vector<size_t> topological_order(const std::vector<Node>& nodes);

std::unique_ptr<GraphProgram> make_program(const Graph& graph);

/// Queues all nodes on the stream.
void launch_program(GraphProgram& program, Stream& stream);

}  // namespace simgpu
