// Built for several generations of devices: which of its code runs, on one that SIMGPU_CAPABILITY chooses.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>

namespace {

__global__ void tell(int* result) {
#ifdef __CUDA_ARCH__
  *result = __CUDA_ARCH__ / 10;
#endif
}

}  // namespace

/// Compares the device's capability, that of the code that ran there, and how that went, with the argument.
int main(int, char** arguments) {
  cudaDeviceProp properties{};
  int *result = nullptr, code = 0;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  if (cudaMalloc(&result, sizeof *result) != cudaSuccess) return 1;
  tell<<<1, 1>>>(result);
  const cudaError_t launched = cudaGetLastError();
  if (launched == cudaSuccess) cudaMemcpy(&code, result, sizeof code, cudaMemcpyDeviceToHost);
  cudaFree(result);
  const std::string text = std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                           " code " + std::to_string(code) + " " + cudaGetErrorName(launched);
  std::printf("%s\n", text.c_str());
  return text == arguments[1] ? 0 : 1;
}
