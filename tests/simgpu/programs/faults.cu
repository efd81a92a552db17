// One wrong use of the devices, chosen by the first argument: check_faults.py holds the report that each must
// give.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

__global__ void fill(float* data, int count, int shift) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) data[index + shift] = 1;
}

__global__ void read(const float* data, float* result) { result[threadIdx.x] = data[threadIdx.x]; }

__global__ void misaligned(char* data) { *reinterpret_cast<int*>(data + 2) = 1; }

__global__ void barrier_in_branch() {
  if (threadIdx.x < 16) __syncthreads();
}

__global__ void shuffle_in_branch(int* data) {
  int value = threadIdx.x;
  if (threadIdx.x & 1) value = __shfl_xor_sync(~0u, value, 1);
  data[threadIdx.x] = value;
}

__global__ void beyond_shared(float* data, int shift) {
  __shared__ float values[32];
  values[threadIdx.x + shift] = 1;
  __syncthreads();
  data[threadIdx.x] = values[0];
}

__global__ void shared_race(int* data) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  data[threadIdx.x] = values[63 - threadIdx.x];  // a barrier is missing
}

__global__ void asserts(int* data) { assert(data == nullptr); }

__global__ void traps() { __trap(); }

float* buffer(size_t count = 1000) {
  float* data = nullptr;
  cudaMalloc(&data, count * sizeof(float));
  return data;
}

void race_of_streams() {
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  float* data = buffer();
  fill<<<4, 256, 0, first>>>(data, 1000, 0);
  fill<<<4, 256, 0, second>>>(data, 500, 0);
  cudaDeviceSynchronize();
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaFree(data);
}

void use_after_free() {
  float* data = buffer();
  cudaFree(data);
  fill<<<4, 256>>>(data, 1000, 0);
}

void freed_twice() {
  float* data = buffer();
  cudaFree(data);
  cudaFree(data);
}

void no_peer() {
  cudaSetDevice(1);
  float* data = buffer();
  cudaSetDevice(0);
  fill<<<4, 256>>>(data, 1000, 0);
}

void dead_stream() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamDestroy(stream);
  cudaStreamSynchronize(stream);
}

void read_to_host() {
  float values[16];
  cudaMemcpy(values, buffer(), sizeof values, cudaMemcpyDeviceToHost);
}

void injected() {
  float* data[3];
  for (float*& pointer : data) std::printf("%s\n", cudaGetErrorName(cudaMalloc(&pointer, 64)));
  cudaFree(data[0]);
  cudaFree(data[2]);
}

using Case = void (*)();

const std::map<std::string, Case> cases = {
    {"beyond", [] { fill<<<4, 256>>>(buffer(), 1001, 0); }},
    {"below", [] { fill<<<4, 256>>>(buffer(), 100, -1); }},
    {"use_after_free", &use_after_free},
    {"freed_twice", &freed_twice},
    {"host_pointer", [] { fill<<<4, 256>>>(static_cast<float*>(std::malloc(4000)), 1000, 0); }},
    {"null", [] { fill<<<1, 32>>>(nullptr, 32, 0); }},
    {"uninitialized", [] { read<<<1, 32>>>(buffer(), buffer()); }},
    {"read_to_host", &read_to_host},
    {"misaligned", [] { misaligned<<<1, 1>>>(reinterpret_cast<char*>(buffer())); }},
    {"barrier", [] { barrier_in_branch<<<1, 32>>>(); }},
    {"shuffle", [] { shuffle_in_branch<<<1, 32>>>(reinterpret_cast<int*>(buffer())); }},
    {"beyond_shared", [] { beyond_shared<<<1, 32>>>(buffer(), 1); }},
    {"shared_race", [] { shared_race<<<1, 64>>>(reinterpret_cast<int*>(buffer())); }},
    {"race", &race_of_streams},
    {"no_peer", &no_peer},
    {"dead_stream", &dead_stream},
    {"leak", [] { buffer(25); }},
    {"assert", [] { asserts<<<1, 1>>>(reinterpret_cast<int*>(buffer())); }},
    {"trap", [] { traps<<<1, 1>>>(); }},
    {"too_many_threads", [] { fill<<<1, 2048>>>(nullptr, 0, 0); }},
    {"injected", &injected},
    {"lost", [] { fill<<<4, 256>>>(buffer(), 1000, 0); }},
    {"host_access", [] { buffer()[0] = 1; }},
    {"missing", [] { cudaCreateTextureObject(nullptr, nullptr, nullptr, nullptr); }},
};

}  // namespace

int main(int, char** arguments) {
  cases.at(arguments[1])();
  const cudaError_t launched = cudaGetLastError(), finished = cudaDeviceSynchronize();
  std::printf("%s %s\n", cudaGetErrorName(launched), cudaGetErrorName(finished));
  return 0;
}
