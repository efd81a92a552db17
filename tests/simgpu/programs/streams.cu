// Streams, events, default streams, host functions, symbols, peers and graphs. Runs with several seeds: the
// order in which work runs must not matter to a right program.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <tern/tests/simgpu/programs/device_array.h>

namespace {

__constant__ int factor;
__device__ int total = 7;

__global__ void scale(int* data, int by) { data[threadIdx.x] = data[threadIdx.x] * by + 1; }

__global__ void scale_by_constant(int* data) {
  data[threadIdx.x] *= factor;
  if (threadIdx.x == 0) total += 1;
}

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { ok(cudaStreamCreateWithFlags(&handle_, flags)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class Event {
 public:
  Event() { ok(cudaEventCreate(&handle_)); }
  ~Event() { cudaEventDestroy(handle_); }
  operator cudaEvent_t() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

const std::vector<int> ones(32, 1);

/// What 32 ones become by scaling with each factor in turn.
std::vector<int> scaled(const std::vector<int>& factors) {
  int value = 1;
  for (const int by : factors) value = value * by + 1;
  return std::vector<int>(32, value);
}

}  // namespace

TEST_CASE("A stream's work runs in order, and only when somebody waits") {
  const DeviceArray<int> data(ones);
  const Stream stream;
  int* host = nullptr;
  ok(cudaMallocHost(&host, 32 * sizeof(int)));
  host[0] = -1;
  scale<<<1, 32, 0, stream>>>(data.get(), 2);
  scale<<<1, 32, 0, stream>>>(data.get(), 5);
  ok(cudaMemcpyAsync(host, data.get(), 32 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(host[0] == -1);
  ok(cudaStreamSynchronize(stream));
  CHECK(std::vector<int>(host, host + 32) == scaled({2, 5}));
  ok(cudaFreeHost(host));
}

TEST_CASE("An event orders one stream behind another") {
  const DeviceArray<int> data(ones);
  const Stream first, second;
  const Event event;
  for (int by : {2, 3, 4}) {
    scale<<<1, 32, 0, first>>>(data.get(), by);
    ok(cudaEventRecord(event, first));
    ok(cudaStreamWaitEvent(second, event));
    scale<<<1, 32, 0, second>>>(data.get(), by + 10);
    ok(cudaEventRecord(event, second));
    ok(cudaStreamWaitEvent(first, event));
  }
  ok(cudaStreamSynchronize(first));
  CHECK(data.values() == scaled({2, 12, 3, 13, 4, 14}));
}

TEST_CASE("The legacy default stream and blocking streams wait for each other") {
  const DeviceArray<int> data(ones);
  const Stream blocking(cudaStreamDefault), other(cudaStreamDefault);
  scale<<<1, 32, 0, blocking>>>(data.get(), 2);
  scale<<<1, 32>>>(data.get(), 3);
  scale<<<1, 32, 0, other>>>(data.get(), 4);
  finished();
  CHECK(data.values() == scaled({2, 3, 4}));
}

TEST_CASE("Events tell when they are done, and how long it took") {
  const DeviceArray<int> data(ones);
  const Stream stream;
  const Event start, end;
  ok(cudaEventRecord(start, stream));
  scale<<<1, 32, 0, stream>>>(data.get(), 2);
  ok(cudaEventRecord(end, stream));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaErrorNotReady);
  while (cudaEventQuery(end) == cudaErrorNotReady) {
  }
  ok(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
}

TEST_CASE("Memory may be taken and given back in a stream's order") {
  const Stream stream;
  int* data = nullptr;
  ok(cudaMallocAsync(&data, 32 * sizeof(int), stream));
  ok(cudaMemcpyAsync(data, ones.data(), 32 * sizeof(int), cudaMemcpyHostToDevice, stream));
  scale<<<1, 32, 0, stream>>>(data, 9);
  std::vector<int> values(32);
  ok(cudaMemcpyAsync(values.data(), data, 32 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  ok(cudaFreeAsync(data, stream));
  ok(cudaStreamSynchronize(stream));
  CHECK(values == scaled({9}));
}

TEST_CASE("Host functions run between kernels") {
  const Stream stream;
  int calls = 0;
  const auto count = [](void* calls) { ++*static_cast<int*>(calls); };
  ok(cudaLaunchHostFunc(stream, count, &calls));
  ok(cudaLaunchHostFunc(stream, count, &calls));
  CHECK(calls == 0);
  ok(cudaStreamSynchronize(stream));
  CHECK(calls == 2);
}

TEST_CASE("Variables of the device are reached by their names") {
  const int by = 6, before = 40;
  ok(cudaMemcpyToSymbol(factor, &by, sizeof by));
  ok(cudaMemcpyToSymbol(total, &before, sizeof before));
  const DeviceArray<int> data(ones);
  scale_by_constant<<<1, 32>>>(data.get());
  int after = 0;
  ok(cudaMemcpyFromSymbol(&after, total, sizeof after));
  CHECK(after == 41);
  CHECK(data.values() == std::vector<int>(32, 6));
}

TEST_CASE("A captured graph is launched again and again, and updated") {
  const DeviceArray<int> data(ones);
  const Stream stream, side;
  const Event fork, join;
  const auto capture = [&](int by) {
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<<<1, 32, 0, stream>>>(data.get(), by);
    ok(cudaEventRecord(fork, stream));
    ok(cudaStreamWaitEvent(side, fork));
    scale<<<1, 32, 0, side>>>(data.get(), by + 1);
    ok(cudaEventRecord(join, side));
    ok(cudaStreamWaitEvent(stream, join));
    ok(cudaStreamEndCapture(stream, &graph));
    return graph;
  };
  cudaGraph_t graph = capture(2), changed = capture(5);
  cudaGraphExec_t program = nullptr;
  ok(cudaGraphInstantiate(&program, graph));
  ok(cudaGraphLaunch(program, stream));
  ok(cudaGraphLaunch(program, stream));
  cudaGraphExecUpdateResultInfo result;
  ok(cudaGraphExecUpdate(program, changed, &result));
  ok(cudaGraphLaunch(program, stream));
  ok(cudaStreamSynchronize(stream));
  CHECK(data.values() == scaled({2, 3, 2, 3, 5, 6}));
  ok(cudaGraphExecDestroy(program));
  ok(cudaGraphDestroy(graph));
  ok(cudaGraphDestroy(changed));
}

TEST_CASE("What a capture forbids makes it invalid") {
  const Stream stream;
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 16) == cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_CASE("Pieces with a pitch are copied and set") {
  const DeviceArray<int> data(std::vector<int>(64, 3));
  ok(cudaMemset2D(data.get(), 32, 0, 8, 8));
  std::vector<int> values(16);
  ok(cudaMemcpy2D(values.data(), 8, data.get() + 1, 32, 8, 8, cudaMemcpyDeviceToHost));
  for (size_t index = 0; index < 16; ++index) CHECK(values[index] == (index % 2 == 0 ? 0 : 3));
}

TEST_CASE("The last error is told once") {
  CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
}
