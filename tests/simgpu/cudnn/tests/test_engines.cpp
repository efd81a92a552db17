// What is refused without being wrong: graphs that have no engine, and what a program learns of it.
#include <doctest/doctest.h>
#include <tern/tests/simgpu/cudnn/tests/attention.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>

#include <cstdlib>

using namespace drive;

namespace {

size_t engines(const Graph& graph, cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_INSTANT) {
  return engine_configurations(graph.finalize(nullptr), mode).size();
}

Graph convolution(cudnnDataType_t type) {
  const Sizes x = {2, 16, 8, 8}, w = {16, 16, 3, 3}, y = {2, 16, 6, 6};
  const Tensor tx(1, x, {.dtype = type}), tw(2, w, {.dtype = CUDNN_DATA_HALF}),
      ty(3, y, {.dtype = CUDNN_DATA_HALF});
  Graph graph;
  graph.convolution(Convolution::forward, tx, tw, ty);
  return graph;
}

}  // namespace

TEST_CASE("a graph without an engine has no configurations, and the last error says why") {
  CHECK(engines(convolution(CUDNN_DATA_HALF)) > 1);
  CHECK(engines(convolution(CUDNN_DATA_BFLOAT16)) == 0);
  CHECK(last_error().find("convolution: mixed types") != std::string::npos);
  CHECK(engines(attention_forward({.width = 20})) == 0);
  CHECK(last_error().find("a head's size is no multiple of 8") != std::string::npos);
  CHECK(engines(attention_forward({.dropout = true})) == 0);
  CHECK(last_error() == "no engine: random numbers are not simulated");
}

TEST_CASE("the fallback list has what needs no compilation") {
  CHECK(engines(convolution(CUDNN_DATA_HALF), CUDNN_HEUR_MODE_FALLBACK) > 0);
  CHECK(engines(attention_forward({})) == 1);
  CHECK(engines(attention_forward({}), CUDNN_HEUR_MODE_FALLBACK) == 0);
}

TEST_CASE("SIMGPU_CUDNN_NO_ENGINE takes engines away") {
  const Graph graph = convolution(CUDNN_DATA_HALF);
  setenv("SIMGPU_CUDNN_NO_ENGINE", "convolution,attention", 1);
  CHECK(engines(graph) == 1);
  setenv("SIMGPU_CUDNN_NO_ENGINE", "all", 1);
  CHECK(engines(graph) == 0);
  unsetenv("SIMGPU_CUDNN_NO_ENGINE");
  CHECK(engines(graph) == 2);
}

TEST_CASE("an engine's notes, workspace and number can be asked for, and it can be chosen by number") {
  const Handle handle;
  const Descriptor graph = convolution(CUDNN_DATA_HALF).finalize(handle.get());
  CHECK(graph.get<int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1) == Sizes{2});
  const std::vector<Descriptor> found = engine_configurations(graph, CUDNN_HEUR_MODE_INSTANT);
  CHECK(found[0].get<int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 1)[0] > 0);
  CHECK(found[1].get<int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 1)[0] == 0);
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), none(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, int64_t{0})
      .finalize();
  CHECK(engine.get<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, 5).empty());
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).finalize();
  CHECK(make_plan(handle.get(), configuration).get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1) ==
        Sizes{0});
  none.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, int64_t{20});
  CHECK(cudnnBackendFinalize(none.get()) == CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_CASE("notes tell of what isn't deterministic, and of float that is cut short") {
  const Sizes x = {2, 16, 8, 8}, w = {16, 16, 3, 3}, y = {2, 16, 6, 6};
  const Tensor tx(1, x, {}), tw(2, w, {}), ty(3, y, {});
  Graph graph;
  graph.convolution(Convolution::backward_filter, tx, tw, ty);
  const std::vector<Descriptor> found =
      engine_configurations(graph.finalize(nullptr), CUDNN_HEUR_MODE_INSTANT);
  const auto notes = [&](size_t i) {
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    void* raw = engine.get();
    int64_t number = 0;
    check(cudnnBackendGetAttribute(found.at(i).get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &number, &raw),
          "engine");
    return engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 10);
  };
  CHECK(notes(0) == std::vector{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                                CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC});
  CHECK(notes(1).empty());
}

TEST_CASE("what isn't simulated is not supported, and no misuse") {
  cudnnBackendDescriptor_t descriptor = nullptr;
  CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_SIGNAL_DESCRIPTOR, &descriptor) ==
        CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(last_error() == "CUDNN_BACKEND_OPERATION_SIGNAL_DESCRIPTOR is not simulated");
  const Handle handle;
  const Descriptor graph = convolution(CUDNN_DATA_HALF).finalize(handle.get());
  const Descriptor plan =
      make_plan(handle.get(), engine_configurations(graph, CUDNN_HEUR_MODE_INSTANT).at(0));
  CHECK(cudnnBackendPopulateCudaGraph(handle.get(), plan.get(), plan.get(), nullptr) ==
        CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API);
}

TEST_CASE("one plan runs many times, on the handle's stream, and in a captured graph") {
  const Sizes dims = {2, 8, 4, 4};
  const Tensor x(1, dims, {.strides = channels_last(dims)}), y(2, dims, {.strides = channels_last(dims)});
  Graph graph;
  graph.pointwise(CUDNN_POINTWISE_NEG, {.x = &x, .y = &y});
  Run run;
  run.input(x, random_numbers(x)).output(y);
  const Handle handle;
  const Descriptor plan = make_plan(
      handle.get(), engine_configurations(graph.finalize(handle.get()), CUDNN_HEUR_MODE_INSTANT).at(0));
  const Descriptor pack = make_pack({{1, run.pointer(1)}, {2, run.pointer(2)}}, nullptr);
  cudaStream_t stream = nullptr, set = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudnnSetStream(handle.get(), stream) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetStream(handle.get(), &set) == CUDNN_STATUS_SUCCESS);
  CHECK(set == stream);
  Numbers expected = random_numbers(x);
  for (double& value : expected) value = -value;
  for (int i = 0; i < 3; i++) {
    CHECK(cudnnBackendExecute(handle.get(), plan.get(), pack.get()) == CUDNN_STATUS_SUCCESS);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(run.get(y) == expected);
  }
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudnnBackendExecute(handle.get(), plan.get(), pack.get()) == CUDNN_STATUS_SUCCESS);
  CHECK(cudaStreamEndCapture(stream, &captured) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&executable, captured, 0) == cudaSuccess);
  run.input(x, Numbers(256, 3));
  CHECK(cudaGraphLaunch(executable, stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(run.get(y) == Numbers(256, -3));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(captured);
  cudaStreamDestroy(stream);
}

TEST_CASE("names and versions") {
  CHECK(cudnnGetVersion() == CUDNN_VERSION);
  CHECK(std::string(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM)) == "CUDNN_STATUS_BAD_PARAM");
  int major = 0;
  CHECK(cudnnGetProperty(MAJOR_VERSION, &major) == CUDNN_STATUS_SUCCESS);
  CHECK(major == CUDNN_MAJOR);
}
