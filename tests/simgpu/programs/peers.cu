// Several devices in one process: copies between them, direct access, events across, and what stays apart.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <tern/tests/simgpu/programs/device_array.h>

#include <numeric>

namespace {

constexpr int count = 1000;

__global__ void add(const int* a, const int* b, int* result, int size) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < size) result[index] = a[index] + b[index];
}

__global__ void fill(int* data, int value, int size) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < size) data[index] = value + index;
}

std::vector<int> range(int first) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

int device_now() {
  int device = -1;
  ok(cudaGetDevice(&device));
  return device;
}

struct Stream {
  Stream() { ok(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

struct Event {
  Event() { ok(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(handle); }
  cudaEvent_t handle = nullptr;
};

}  // namespace

TEST_CASE("There are as many devices as the environment says, alike and apart") {
  int devices = 0;
  ok(cudaGetDeviceCount(&devices));
  REQUIRE(devices == 4);
  CHECK(cudaSetDevice(4) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  for (int device = 0; device < devices; ++device) {
    ok(cudaSetDevice(device));
    CHECK(device_now() == device);
    const DeviceArray<int> data(count);
    cudaPointerAttributes attributes{};
    ok(cudaPointerGetAttributes(&attributes, data.get()));
    CHECK(attributes.device == device);
    CHECK(attributes.type == cudaMemoryTypeDevice);
  }
  ok(cudaSetDevice(0));
}

TEST_CASE("Copies between devices, with and without streams") {
  ok(cudaSetDevice(0));
  const DeviceArray<int> first(range(3));
  ok(cudaSetDevice(1));
  const DeviceArray<int> second(count), third(count);
  ok(cudaMemcpyPeer(second.get(), 1, first.get(), 0, count * sizeof(int)));
  CHECK(second.values() == range(3));
  const Stream stream;
  ok(cudaMemcpyPeerAsync(third.get(), 1, second.get(), 1, count * sizeof(int), stream.handle));
  ok(cudaStreamSynchronize(stream.handle));
  CHECK(third.values() == range(3));
  ok(cudaMemcpy(third.get(), first.get(), count * sizeof(int), cudaMemcpyDefault));
  CHECK(third.values() == range(3));
  ok(cudaSetDevice(0));
}

TEST_CASE("A kernel reads a peer's memory once access is enabled") {
  ok(cudaSetDevice(2));
  const DeviceArray<int> theirs(range(100));
  ok(cudaSetDevice(0));
  int can = 0;
  ok(cudaDeviceCanAccessPeer(&can, 0, 2));
  REQUIRE(can == 1);
  ok(cudaDeviceEnablePeerAccess(2, 0));
  CHECK(cudaDeviceEnablePeerAccess(2, 0) == cudaErrorPeerAccessAlreadyEnabled);
  CHECK(cudaGetLastError() == cudaErrorPeerAccessAlreadyEnabled);
  const DeviceArray<int> ours(range(0)), result(count);
  add<<<8, 128>>>(ours.get(), theirs.get(), result.get(), count);
  finished();
  std::vector<int> expected(count);
  for (int i = 0; i < count; ++i) expected[i] = 100 + 2 * i;
  CHECK(result.values() == expected);
  ok(cudaDeviceDisablePeerAccess(2));
}

TEST_CASE("An event makes a stream of one device wait for another device's") {
  ok(cudaSetDevice(0));
  const DeviceArray<int> source(count);
  const Stream producer;
  const Event filled;
  fill<<<8, 128, 0, producer.handle>>>(source.get(), 7, count);
  ok(cudaEventRecord(filled.handle, producer.handle));
  ok(cudaSetDevice(3));
  const DeviceArray<int> copy(count);
  const Stream consumer;
  ok(cudaStreamWaitEvent(consumer.handle, filled.handle, 0));
  ok(cudaMemcpyPeerAsync(copy.get(), 3, source.get(), 0, count * sizeof(int), consumer.handle));
  ok(cudaStreamSynchronize(consumer.handle));
  CHECK(copy.values() == range(7));
  ok(cudaSetDevice(0));
}
