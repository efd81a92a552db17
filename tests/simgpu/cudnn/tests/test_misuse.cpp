// Each wrong use of the simulated cuDNN fires its report. The processes that misuse it are children.
#include <doctest/doctest.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>
#include <tern/tests/simgpu/testing.h>

using namespace drive;

namespace {

/// What a process reports whose last act is `body`; exceptions of cuDNN end it quietly.
std::string report(const std::function<void()>& body) {
  return simgpu::reports_of([&] {
    try {
      body();
    } catch (const std::exception&) {
    }
  });
}

#define CHECK_REPORT(part, ...) CHECK(simgpu::contains(report([&] { __VA_ARGS__; }), part))

const Sizes dims = {2, 8, 4, 4};
const TensorOptions last = {.strides = channels_last({2, 8, 4, 4})};

/// y = x + b, planned, with memory for all three; what follows goes wrong.
struct Sum {
  Tensor x{1, dims, last}, b{2, dims, last}, y{3, dims, last};
  Handle handle;
  std::map<int64_t, void*> pointers;
  Descriptor plan;

  Sum() : plan(planned(handle.get())) {
    for (const int64_t uid : {1, 2, 3}) {
      MUST(cudaMalloc(&pointers[uid], 1024 + 16));
      if (uid != 3) MUST(cudaMemset(pointers[uid], 0, 1024));
    }
  }
  ~Sum() {
    cudaDeviceSynchronize();
    for (const auto& [uid, pointer] : original) cudaFree(pointer);
    for (const auto& [uid, pointer] : pointers) {
      if (original.count(uid) == 0) cudaFree(pointer);
    }
  }
  std::map<int64_t, void*> original;  // of pointers that a test replaces

  void replace(int64_t uid, void* pointer) { original[uid] = std::exchange(pointers[uid], pointer); }

  Descriptor planned(cudnnHandle_t of) const {
    Graph graph;
    graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &x, .b = &b, .y = &y});
    return make_plan(of, engine_configurations(graph.finalize(of), CUDNN_HEUR_MODE_INSTANT).at(0));
  }
  void execute() {
    check(cudnnBackendExecute(handle.get(), plan.get(), make_pack(pointers, nullptr).get()), "execute");
  }
};

Descriptor tensor_without(cudnnBackendAttributeName_t name) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  if (name != CUDNN_ATTR_TENSOR_UNIQUE_ID) tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t{1});
  if (name != CUDNN_ATTR_TENSOR_DATA_TYPE) tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (name != CUDNN_ATTR_TENSOR_DIMENSIONS) tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  if (name != CUDNN_ATTR_TENSOR_STRIDES) tensor.set(CUDNN_ATTR_TENSOR_STRIDES, last.strides);
  if (name != CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16});
  return tensor;
}

}  // namespace

TEST_CASE("right use reports nothing") {
  CHECK(report([] {
          Sum sum;
          sum.execute();
        }).empty());
}

TEST_CASE("attributes that are missing, unknown, of another type or number, or set too late") {
  CHECK_REPORT("CUDNN_ATTR_TENSOR_UNIQUE_ID is not set",
               tensor_without(CUDNN_ATTR_TENSOR_UNIQUE_ID).finalize());
  CHECK_REPORT("CUDNN_ATTR_TENSOR_DATA_TYPE is not set",
               tensor_without(CUDNN_ATTR_TENSOR_DATA_TYPE).finalize());
  CHECK_REPORT("CUDNN_ATTR_TENSOR_STRIDES is not set", tensor_without(CUDNN_ATTR_TENSOR_STRIDES).finalize());
  Descriptor* tensor = nullptr;
  const auto made = [&] { return tensor = new Descriptor(tensor_without(CUDNN_ATTR_TENSOR_UNIQUE_ID)); };
  CHECK_REPORT("has no attribute", made()->set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Sizes{1}));
  CHECK_REPORT("CUDNN_ATTR_TENSOR_UNIQUE_ID has another type", made()->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, 1.0));
  CHECK_REPORT("has 1 elements, not 2", made()->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Sizes{1, 2}));
  CHECK_REPORT("has 1 to 8 elements, not 9", made()->set(CUDNN_ATTR_TENSOR_DIMENSIONS, Sizes(9, 1)));
  CHECK_REPORT("the elements of CUDNN_ATTR_TENSOR_UNIQUE_ID are null",
               made()->set_raw(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr));
  CHECK_REPORT("is set after the descriptor was finalised",
               Tensor(1, dims, last).descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t{2}));
  CHECK_REPORT("is finalised twice", Tensor(1, dims, last).descriptor.finalize());
  CHECK_REPORT("is asked for before", made()->get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, 4));
  CHECK_REPORT("can only be asked for", Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
                                            .set(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, int64_t{1}));
  Descriptor reshape(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  CHECK_REPORT("set to a descriptor that is not finalised",
               reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *made()));
  CHECK_REPORT("cannot be a CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR",
               reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, reshape));
}

TEST_CASE("tensors that can't be") {
  CHECK_REPORT("dimensions and strides differ in number", Tensor(1, dims, {.strides = {1, 1, 1}}));
  CHECK_REPORT("a dimension is not positive", Tensor(1, {2, 0}, {.strides = {2, 1}}));
  CHECK_REPORT("a stride is negative", Tensor(1, {2, 2}, {.strides = {-2, 1}}));
  CHECK_REPORT("BYTE_ALIGNMENT is 2", Tensor(1, dims, {.alignment = 2}));
  CHECK_REPORT("only one element in memory can be given by value", Tensor(1, dims, {.by_value = true}));
}

TEST_CASE("operations whose shapes don't fit") {
  const Tensor x(1, {2, 8, 6, 6}, {}), w(2, {4, 8, 3, 3}, {}), y(3, {2, 4, 5, 4}, {}),
      w3(4, {4, 3, 3, 3}, {});
  const Tensor a(5, {1, 4, 5}, {}), b(6, {1, 6, 7}, {}), c(7, {1, 4, 7}, {});
  const Tensor constant(8, {1, 1, 1, 1}, {.by_value = true});
  Graph graph;
  CHECK_REPORT("dimension 2 of y should be 4", graph.convolution(Convolution::forward, x, w, y));
  CHECK_REPORT("no multiple of those of the filter", graph.convolution(Convolution::forward, x, w3, y));
  CHECK_REPORT("has 1 elements for 2 spatial",
               graph.convolution(Convolution::forward, x, w, y, {.pre = {1}}));
  CHECK_REPORT("at least 1 is needed", graph.convolution(Convolution::forward, x, w, y, {.stride = {0, 1}}));
  CHECK_REPORT("the matrices of a matmul don't fit", graph.matmul(a, b, c));
  CHECK_REPORT("is not reduced to", graph.reduction(CUDNN_REDUCE_TENSOR_ADD, x, y));
  CHECK_REPORT("is not broadcast to", graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &x, .b = &w, .y = &x}));
  CHECK_REPORT("CUDNN_ATTR_OPERATION_POINTWISE_BDESC is not set",
               graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &x, .y = &x}));
  CHECK_REPORT("but has a second", graph.pointwise(CUDNN_POINTWISE_EXP, {.x = &x, .b = &x, .y = &x}));
  CHECK_REPORT("another number of elements", graph.reshape(x, y));
  CHECK_REPORT("so it cannot be written",
               graph.pointwise(CUDNN_POINTWISE_EXP, {.x = &constant, .y = &constant}));
}

TEST_CASE("graphs that are none") {
  const Tensor x(1, dims, last), y(2, dims, last), z(3, dims, last), other(1, {2, 8, 4, 5}, {});
  const Tensor hidden(4, dims, {.is_virtual = true}), flat(5, {2, 8}, {.strides = {1, 1}}),
      from(6, {2, 8}, {});
  const auto finalized = [](const auto& build) {
    Graph graph;
    build(graph);
    graph.finalize(nullptr);
  };
  const auto copy = [](Graph& graph, const Tensor& a, const Tensor& b) {
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, {.x = &a, .y = &b});
  };
  CHECK_REPORT("CUDNN_ATTR_OPERATIONGRAPH_OPS has 1 to", finalized([](Graph&) {}));
  CHECK_REPORT("two operations write", finalized([&](Graph& g) { copy(g, x, y), copy(g, z, y); }));
  CHECK_REPORT("in a circle", finalized([&](Graph& g) { copy(g, x, y), copy(g, y, x); }));
  CHECK_REPORT("two tensors have one number",
               finalized([&](Graph& g) { copy(g, x, y), copy(g, other, other); }));
  CHECK_REPORT("is virtual, but no operation writes it", finalized([&](Graph& g) { copy(g, hidden, y); }));
  CHECK_REPORT("overlap, yet they are written", finalized([&](Graph& g) { copy(g, from, flat); }));
}

TEST_CASE("variant packs that miss, mix up or misplace memory") {
  CHECK_REPORT("the variant pack misses tensor 2", Sum s; cudaFree(s.pointers[2]); s.pointers.erase(2);
               s.execute());
  CHECK_REPORT("has tensor 9, which the plan has not", Sum s; s.pointers[9] = s.pointers[1];
               s.original[9] = nullptr; s.execute());
  CHECK_REPORT("the pointer of tensor 1", Sum s; s.replace(1, nullptr); s.execute());
  CHECK_REPORT("not aligned to the 16 bytes", Sum s; s.replace(1, static_cast<char*>(s.pointers[1]) + 4);
               s.execute());
  CHECK_REPORT("is written over the memory of", Sum s; s.replace(3, static_cast<char*>(s.pointers[1]) + 16);
               s.execute());
  CHECK_REPORT("has 2 numbers and 1 pointers", Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
               pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, Sizes{1, 2});
               pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::vector<void*>{&pack}).finalize());
  CHECK_REPORT("has tensor 1 twice", Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
               pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, Sizes{1, 1});
               pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::vector<void*>{&pack, &pack}).finalize());
}

TEST_CASE("memory on the host, freed, never written or too small is the device's fault to find") {
  std::vector<char> host(2048);
  CHECK(!report([&] {
           Sum s;
           s.replace(1, host.data() + 16 - reinterpret_cast<uintptr_t>(host.data()) % 16);
           s.execute();
         }).empty());
  CHECK(!report([&] {
           Sum s;
           MUST(cudaFree(s.pointers[1]));
           s.original[1] = nullptr;
           s.execute();
         }).empty());
  CHECK(!report([&] {
           Sum s;
           void* fresh = nullptr;
           MUST(cudaMalloc(&fresh, 1024));
           s.replace(1, fresh);
           s.execute();
           cudaDeviceSynchronize();
           cudaFree(fresh);
         }).empty());
  CHECK(!report([&] {
           Sum s;
           void* narrow = nullptr;
           MUST(cudaMalloc(&narrow, 512));
           MUST(cudaMemset(narrow, 0, 512));
           s.replace(1, narrow);
           s.execute();
           cudaDeviceSynchronize();
           cudaFree(narrow);
         }).empty());
}

TEST_CASE("a workspace that is missing or on another device") {
  const auto execute = [](void* (*workspace)(int64_t)) {
    const Sizes w = {8, 8, 3, 3}, out = {2, 8, 2, 2};
    const Tensor x(1, dims, {}), f(2, w, {}), y(3, out, {});
    Graph graph;
    graph.convolution(Convolution::forward, x, f, y);
    Run run;
    run.input(x, random_numbers(x)).input(f, random_numbers(f)).output(y);
    const Handle handle;
    const Descriptor plan = make_plan(
        handle.get(), engine_configurations(graph.finalize(handle.get()), CUDNN_HEUR_MODE_INSTANT).at(0));
    const int64_t bytes = plan.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0);
    const Descriptor pack =
        make_pack({{1, run.pointer(1)}, {2, run.pointer(2)}, {3, run.pointer(3)}}, workspace(bytes));
    check(cudnnBackendExecute(handle.get(), plan.get(), pack.get()), "execute");
    cudaDeviceSynchronize();
  };
  CHECK_REPORT("bytes of workspace, the variant pack has none",
               execute([](int64_t) -> void* { return nullptr; }));
  CHECK_REPORT("the workspace is no memory of the handle's device", execute([](int64_t bytes) {
                 void* memory = nullptr;
                 MUST(cudaSetDevice(1));
                 MUST(cudaMalloc(&memory, static_cast<size_t>(bytes)));
                 MUST(cudaSetDevice(0));
                 return memory;
               }));
  CHECK(!report([&] {
           execute([](int64_t bytes) {
             void* memory = nullptr;
             MUST(cudaMalloc(&memory, static_cast<size_t>(bytes / 2)));
             return memory;
           });
         }).empty());
}

TEST_CASE("handles and plans of another device") {
  CHECK_REPORT("the handle belongs to device 0, the current device is 1", Sum s; MUST(cudaSetDevice(1));
               s.execute());
  CHECK_REPORT(
      "the plan was made for device 1", Sum s; MUST(cudaSetDevice(1)); {
        const Handle other;
        s.plan = s.planned(other.get());
      } MUST(cudaSetDevice(0));
      s.execute());
  CHECK_REPORT("the stream is of device 1", const Handle handle; cudaStream_t stream = nullptr;
               MUST(cudaSetDevice(1)); MUST(cudaStreamCreate(&stream)); cudnnSetStream(handle.get(), stream));
  CHECK_REPORT("lies on device 1", Sum s; void* memory = nullptr; MUST(cudaSetDevice(1));
               MUST(cudaMalloc(&memory, 1024)); MUST(cudaSetDevice(0)); s.replace(1, memory); s.execute());
}

TEST_CASE("SIMGPU_FAIL makes an execution fail, and nothing else") {
  CHECK(report([] {
          setenv("SIMGPU_FAIL", "cudnn:2", 1);
          Sum sum;
          const auto execute = [&] {
            return cudnnBackendExecute(sum.handle.get(), sum.plan.get(),
                                       make_pack(sum.pointers, nullptr).get());
          };
          MUST(execute());
          simgpu::must(execute() == CUDNN_STATUS_EXECUTION_FAILED, "the second fails");
          simgpu::must(last_error() == "made to fail by SIMGPU_FAIL", "with these words");
          MUST(execute());
        }).empty());
}

TEST_CASE("what is null, destroyed, forgotten or something else") {
  CHECK_REPORT("the handle is null", cudnnSetStream(nullptr, nullptr));
  CHECK_REPORT("the descriptor is null", cudnnBackendFinalize(nullptr));
  CHECK_REPORT("the handle is destroyed", cudnnHandle_t handle = nullptr; cudnnCreate(&handle);
               cudnnDestroy(handle); cudnnDestroy(handle));
  CHECK_REPORT("the descriptor is destroyed", Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR); d.destroy();
               d.finalize());
  int number = 0;
  CHECK_REPORT("this is no descriptor", cudnnBackendFinalize(&number));
  CHECK_REPORT("cuDNN descriptor", new Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  CHECK_REPORT("cuDNN handle", new Handle());
  CHECK_REPORT("the plan is a CUDNN_BACKEND_TENSOR_DESCRIPTOR", Sum s;
               cudnnBackendExecute(s.handle.get(), s.x.descriptor.get(), s.x.descriptor.get()));
}

TEST_CASE("a tensor's descriptor may go when an operation has it") {
  CHECK(report([] {
          Graph graph;
          {
            const Tensor x(1, dims, last), y(2, dims, last);
            graph.pointwise(CUDNN_POINTWISE_EXP, {.x = &x, .y = &y});
          }
          const Handle handle;
          make_plan(handle.get(),
                    engine_configurations(graph.finalize(handle.get()), CUDNN_HEUR_MODE_INSTANT).at(0));
        }).empty());
}

TEST_CASE("a function that is not simulated says its name") {
  cudnnTensorDescriptor_t tensor = nullptr;
  CHECK_REPORT("cudnnCreateTensorDescriptor", cudnnCreateTensorDescriptor(&tensor));
}
