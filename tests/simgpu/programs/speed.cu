// How fast kernels run: with SIMGPU_STATISTICS=1 the simulated devices print it at the end.
#include <cuda_runtime.h>

#include <cstdio>

namespace {

__global__ void add(const float* a, const float* b, float* result, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) result[index] = a[index] + b[index];
}

}  // namespace

int main() {
  constexpr int count = 16 << 20;
  float* data[3] = {};
  for (float*& array : data) {
    if (cudaMalloc(&array, count * sizeof(float)) != cudaSuccess) return 1;
    cudaMemset(array, 0, count * sizeof(float));
  }
  add<<<count / 256, 256>>>(data[0], data[1], data[2], count);
  const cudaError_t result = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(result));
  for (float* array : data) cudaFree(array);
  return result == cudaSuccess ? 0 : 1;
}
