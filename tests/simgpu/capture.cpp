#include <tern/tests/simgpu/capture.h>
#include <tern/tests/simgpu/streams.h>

#include <algorithm>

namespace simgpu {
namespace {

/// A node goes on in the lane of a predecessor where no other has done so; otherwise it opens one.
std::vector<int> make_lanes(const std::vector<Node>& nodes, const std::vector<size_t>& order) {
  std::vector<int> lanes(nodes.size(), -1);
  std::vector<bool> continued(nodes.size(), false);
  for (const size_t index : order) {
    for (const size_t earlier : nodes[index].after) {
      if (continued[earlier]) continue;
      continued[earlier] = true;
      lanes[index] = lanes[earlier];
      break;
    }
    if (lanes[index] < 0) lanes[index] = make_lane();
  }
  return lanes;
}

}  // namespace

GraphProgram::~GraphProgram() {
  for (const int lane : std::set<int>(lanes.begin(), lanes.end())) release_lane(lane);
}

void capture_work(Stream& stream, Work work) {
  Graph& graph = *stream.capture->graph;
  graph.nodes.push_back(std::make_shared<Node>(Node{std::move(work), stream.capture_tail}));
  stream.capture_tail = {graph.nodes.size() - 1};
}

std::vector<size_t> topological_order(const std::vector<Node>& nodes) {
  std::vector<size_t> missing(nodes.size()), order;
  std::vector<std::vector<size_t>> followers(nodes.size());
  for (size_t index = 0; index < nodes.size(); ++index) {
    missing[index] = nodes[index].after.size();
    for (const size_t earlier : nodes[index].after) followers[earlier].push_back(index);
    if (missing[index] == 0) order.push_back(index);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    for (const size_t follower : followers[order[at]]) {
      if (--missing[follower] == 0) order.push_back(follower);
    }
  }
  if (order.size() != nodes.size()) order.clear();
  return order;
}

std::unique_ptr<GraphProgram> make_program(const Graph& graph) {
  auto program = std::make_unique<GraphProgram>();
  for (const auto& node : graph.nodes) {
    program->nodes.push_back(*node);
    program->sources.push_back(node.get());
  }
  program->order = topological_order(program->nodes);
  if (program->order.size() != program->nodes.size()) return nullptr;
  program->lanes = make_lanes(program->nodes, program->order);
  return program;
}

void launch_program(GraphProgram& program, Stream& stream) {
  std::vector<TaskPointer> before = tails(stream);
  before.push_back(program.last);
  std::vector<TaskPointer> tasks(program.nodes.size());
  for (const size_t index : program.order) {
    const Node& node = program.nodes[index];
    std::vector<TaskPointer> behind;
    for (const size_t earlier : node.after) behind.push_back(tasks[earlier]);
    tasks[index] = submit(node.work, program.lanes[index], node.after.empty() ? before : behind);
  }
  tasks.insert(tasks.end(), before.begin(), before.end());  // an empty graph keeps the stream's order
  program.last = submit({.name = "cudaGraphLaunch", .device = stream.device}, stream.lane, tasks);
  stream.tail = program.last;
  stream.awaited.clear();
}

}  // namespace simgpu
