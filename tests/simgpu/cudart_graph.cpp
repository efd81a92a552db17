// Graphs: built by hand or captured, instantiated, launched, updated.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/access.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/graph_handles.h>
#include <tern/tests/simgpu/launches.h>

#include <algorithm>
#include <map>

using namespace simgpu;

namespace {

template <class Body>
cudaError_t with_graph(const char* name, cudaGraph_t handle, Body body) {
  return api(name, [&] {
    Graph* graph = find_graph(handle);
    return graph == nullptr ? cudaErrorInvalidValue : body(*graph);
  });
}

template <class Body>
cudaError_t with_program(const char* name, cudaGraphExec_t handle, Body body) {
  return api(name, [&] {
    GraphProgram* program = find_program(handle);
    return program == nullptr ? cudaErrorInvalidValue : body(*program);
  });
}

/// A node's number in the graph; the number of nodes if it is none of its.
size_t number_in(const Graph& graph, cudaGraphNode_t handle) {
  size_t number = 0;
  while (number < graph.nodes.size() && handle_of(graph.nodes[number]) != handle) ++number;
  return number;
}

cudaError_t add_node(cudaGraphNode_t* handle, Graph& graph, const cudaGraphNode_t* after, size_t count,
                     Work work) {
  auto node = std::make_shared<Node>();
  node->work = std::move(work);
  for (size_t index = 0; index < count; ++index) {
    const size_t number = number_in(graph, after[index]);
    if (number == graph.nodes.size()) return cudaErrorInvalidValue;
    node->after.push_back(number);
  }
  graph.nodes.push_back(node);
  *handle = handle_of(node);
  return cudaSuccess;
}

cudaError_t kernel_work(const cudaKernelNodeParams& parameters, Work& work) {
  KernelEntry* entry = kernel_of_handle(parameters.func);
  if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
  std::shared_ptr<Launch> launch;
  const cudaError_t error =
      make_launch(*entry, current_device_number(), parameters.gridDim, parameters.blockDim,
                  parameters.kernelParams, parameters.sharedMemBytes, launch);
  if (error == cudaSuccess) work = launch_work(std::move(launch));
  return error;
}

cudaGraphNodeType type_of(const Work& work) {
  switch (work.kind) {
    case WorkKind::kernel:
      return cudaGraphNodeTypeKernel;
    case WorkKind::copy:
      return cudaGraphNodeTypeMemcpy;
    case WorkKind::set:
      return cudaGraphNodeTypeMemset;
    case WorkKind::host:
      return cudaGraphNodeTypeHost;
    default:
      return cudaGraphNodeTypeEmpty;
  }
}

cudaError_t instantiate(cudaGraphExec_t* handle, cudaGraph_t graph, unsigned long long flags) {
  return with_graph("cudaGraphInstantiate", graph, [&](const Graph& source) {
    constexpr unsigned long long known = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                         cudaGraphInstantiateFlagUpload |
                                         cudaGraphInstantiateFlagUseNodePriority;
    if ((flags & ~known) != 0) return cudaErrorNotSupported;
    auto program = make_program(source);
    if (program == nullptr) return cudaErrorInvalidValue;
    *handle = add_program(std::move(program));
    return cudaSuccess;
  });
}

/// The first node in which the graph differs in kind or order; the number of nodes if there is none.
size_t first_difference(const GraphProgram& program, const Graph& graph) {
  for (size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node &mine = program.nodes[index], &other = *graph.nodes[index];
    if (mine.work.kind != other.work.kind || mine.after != other.after) return index;
  }
  return graph.nodes.size();
}

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* handle, unsigned) {
  return api("cudaGraphCreate", [&] {
    *handle = add_graph(std::make_shared<Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return with_graph("cudaGraphDestroy", handle, [&](Graph&) {
    remove_graph(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after,
                                   size_t count, const cudaKernelNodeParams* parameters) {
  return with_graph("cudaGraphAddKernelNode", handle, [&](Graph& graph) {
    Work work;
    const cudaError_t error = kernel_work(*parameters, work);
    return error != cudaSuccess ? error : add_node(node, graph, after, count, std::move(work));
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return with_graph("cudaGraphAddMemcpyNode1D", handle, [&](Graph& graph) {
    return add_node(node, graph, after, count, copy_work(to, from, {bytes}, current_device_number()));
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemsetParams* parameters) {
  return with_graph("cudaGraphAddMemsetNode", handle, [&](Graph& graph) {
    const size_t size = parameters->elementSize;
    const CopyShape shape{parameters->width * size, parameters->height, parameters->pitch};
    return add_node(node, graph, after, count,
                    fill_work(parameters->dst, static_cast<int>(parameters->value), size, shape,
                              current_device_number()));
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after,
                                 size_t count, const cudaHostNodeParams* parameters) {
  return with_graph("cudaGraphAddHostNode", handle, [&](Graph& graph) {
    Work work{.name = "a host function",
              .device = current_device_number(),
              .kind = WorkKind::host,
              .unlocked = true};
    work.run = [call = *parameters](Task&) {
      const Unlocked unlocked;
      call.fn(call.userData);
    };
    return add_node(node, graph, after, count, std::move(work));
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after,
                                  size_t count) {
  return with_graph("cudaGraphAddEmptyNode", handle, [&](Graph& graph) {
    return add_node(node, graph, after, count,
                    Work{.name = "an empty node", .device = current_device_number()});
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
  return with_graph("cudaGraphAddDependencies", handle, [&](Graph& graph) {
    for (size_t index = 0; index < count; ++index) {
      const size_t earlier = number_in(graph, from[index]), later = number_in(graph, to[index]);
      if (std::max(earlier, later) >= graph.nodes.size()) return cudaErrorInvalidValue;
      graph.nodes[later]->after.push_back(earlier);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return with_graph("cudaGraphGetNodes", handle, [&](const Graph& graph) {
    if (nodes != nullptr) {
      for (size_t index = 0; index < std::min(*count, graph.nodes.size()); ++index) {
        nodes[index] = handle_of(graph.nodes[index]);
      }
    }
    *count = graph.nodes.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return api("cudaGraphNodeGetType", [&] {
    Graph* graph = nullptr;
    size_t number = 0;
    if (!find_node(handle, graph, number)) return cudaErrorInvalidValue;
    *type = type_of(graph->nodes[number]->work);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* parameters) {
  return api("cudaGraphKernelNodeGetParams", [&] {
    Graph* graph = nullptr;
    size_t number = 0;
    if (!find_node(handle, graph, number)) return cudaErrorInvalidValue;
    const Work& work = graph->nodes[number]->work;
    if (work.kind != WorkKind::kernel || work.parameters == nullptr) return cudaErrorInvalidValue;
    auto& launch = *static_cast<Launch*>(work.parameters.get());
    *parameters = {};
    parameters->func = const_cast<void*>(launch.function);
    parameters->gridDim = {launch.grid[0], launch.grid[1], launch.grid[2]};
    parameters->blockDim = {launch.block[0], launch.block[1], launch.block[2]};
    parameters->sharedMemBytes = launch.dynamic_shared;
    parameters->kernelParams = launch.arguments.data();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t handle, const cudaKernelNodeParams* parameters) {
  return api("cudaGraphKernelNodeSetParams", [&] {
    Graph* graph = nullptr;
    size_t number = 0;
    if (!find_node(handle, graph, number)) return cudaErrorInvalidValue;
    return kernel_work(*parameters, graph->nodes[number]->work);
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* handle, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(handle, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* handle, cudaGraph_t graph,
                                          unsigned long long flags) {
  return instantiate(handle, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return with_program("cudaGraphLaunch", handle, [&](GraphProgram& program) {
    Stream* stream = find_stream(stream_handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return cudaErrorNotSupported;  // a graph within a graph
    if (capture_forbids_legacy(*stream)) return cudaErrorStreamCaptureImplicit;
    launch_program(program, *stream);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t) {
  return with_program("cudaGraphUpload", handle, [](GraphProgram&) { return cudaSuccess; });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                cudaGraphExecUpdateResultInfo* result) {
  return with_program("cudaGraphExecUpdate", handle, [&](GraphProgram& program) {
    const Graph* graph = find_graph(graph_handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    *result = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
    if (graph->nodes.size() != program.nodes.size()) {
      result->result = cudaGraphExecUpdateErrorTopologyChanged;
      return cudaErrorGraphExecUpdateFailure;
    }
    const size_t difference = first_difference(program, *graph);
    if (difference < graph->nodes.size()) {
      result->result = cudaGraphExecUpdateErrorTopologyChanged;
      result->errorNode = handle_of(graph->nodes[difference]);
      return cudaErrorGraphExecUpdateFailure;
    }
    for (size_t index = 0; index < graph->nodes.size(); ++index) {
      program.nodes[index].work = graph->nodes[index]->work;
      program.sources[index] = graph->nodes[index].get();
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return with_program("cudaGraphExecKernelNodeSetParams", handle, [&](GraphProgram& program) {
    const auto* wanted = reinterpret_cast<const Node*>(node);
    const auto found = std::find(program.sources.begin(), program.sources.end(), wanted);
    if (found == program.sources.end()) return cudaErrorInvalidValue;
    return kernel_work(*parameters, program.nodes[static_cast<size_t>(found - program.sources.begin())].work);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return with_program("cudaGraphExecDestroy", handle, [&](GraphProgram&) {
    remove_program(handle);
    return cudaSuccess;
  });
}

}  // extern "C"
