// Vectors, matrices and settings of the simulated cuBLAS.
#include <cublas_v2.h>
#include <tern/tests/simgpu/testing.h>

#include <cstring>

using namespace simgpu;

namespace {

struct Cublas {
  cublasHandle_t handle = nullptr;
  Cublas() { MUST(cublasCreate(&handle)); }
  ~Cublas() { MUST(cublasDestroy(handle)); }
};

}  // namespace

TEST_CASE("vectors: axpy, scal, dot, nrm2, asum, copy, forwards and backwards") {
  const Cublas cublas;
  const float two = 2;
  float result = 0;
  const OnDevice<float> x(std::vector<float>{1, 9, 2, 9, -3}), y(std::vector<float>{10, 20, 30});
  MUST(cublasSaxpy(cublas.handle, 3, &two, x.data(), 2, y.data(), 1));
  CHECK(y.get() == std::vector<float>{12, 24, 24});
  MUST(cublasSaxpy(cublas.handle, 3, &two, x.data(), -2, y.data(), 1));
  CHECK(y.get() == std::vector<float>{6, 28, 26});
  MUST(cublasSscal(cublas.handle, 2, &two, y.data(), 1));
  CHECK(y.get() == std::vector<float>{12, 56, 26});
  MUST(cublasSdot(cublas.handle, 3, x.data(), 2, y.data(), 1, &result));
  CHECK(result == 12 + 112 - 78);
  MUST(cublasSasum(cublas.handle, 3, x.data(), 2, &result));
  CHECK(result == 6);
  MUST(cublasSnrm2(cublas.handle, 2, y.data(), 1, &result));
  CHECK(result == std::sqrt(12.0f * 12 + 56 * 56));
  MUST(cublasScopy(cublas.handle, 3, x.data(), 2, y.data(), 1));
  CHECK(y.get() == std::vector<float>{1, 2, -3});
}

TEST_CASE("results go to device memory in that pointer mode, and the Ex forms take half types") {
  const Cublas cublas;
  MUST(cublasSetPointerMode(cublas.handle, CUBLAS_POINTER_MODE_DEVICE));
  const OnDevice<__nv_bfloat16> x(small_numbers<__nv_bfloat16>(5, 1)), sum(1);
  MUST(cublasDotEx(cublas.handle, 5, x.data(), CUDA_R_16BF, 1, x.data(), CUDA_R_16BF, 1, sum.data(),
                   CUDA_R_16BF, CUDA_R_32F));
  double wanted = 0;
  for (double value : as_double(x.get())) wanted += value * value;
  CHECK(as_double(sum.get())[0] == wanted);
  CHECK(cublasDotEx(cublas.handle, 5, x.data(), CUDA_R_16BF, 1, x.data(), CUDA_R_16BF, 1, sum.data(),
                    CUDA_R_16BF, CUDA_R_16BF) == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("matrices: gemv, ger, geam") {
  const Cublas cublas;
  const double one = 1, two = 2, zero = 0;
  const OnDevice<double> a(std::vector<double>{1, 2, 3, 4, 5, 6}), x(std::vector<double>{1, -1, 2}), y(2),
      c(6);
  MUST(cublasDgemv(cublas.handle, CUBLAS_OP_N, 2, 3, &two, a.data(), 2, x.data(), 1, &zero, y.data(), 1));
  CHECK(y.get() == std::vector<double>{2 * (1 - 3 + 10), 2 * (2 - 4 + 12)});
  MUST(cublasDgemv(cublas.handle, CUBLAS_OP_T, 2, 3, &one, a.data(), 2, y.data(), 1, &one, x.data(), 1));
  CHECK(x.get() == std::vector<double>{1 + 16 + 40, -1 + 48 + 80, 2 + 80 + 120});
  MUST(cublasDgeam(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &one, a.data(), 2, &zero, nullptr, 3,
                   c.data(), 3));
  CHECK(c.get() == std::vector<double>{1, 3, 5, 2, 4, 6});
  MUST(cublasDger(cublas.handle, 3, 2, &one, x.data(), 1, y.data(), 1, c.data(), 3));
  CHECK(c.get()[4] == 4 + 127 * 20);
}

TEST_CASE("settings are kept, and a new stream takes the workspace away") {
  const Cublas cublas;
  cublasPointerMode_t pointer_mode;
  cublasMath_t math_mode;
  int version = 0;
  MUST(cublasGetPointerMode(cublas.handle, &pointer_mode));
  CHECK(pointer_mode == CUBLAS_POINTER_MODE_HOST);
  MUST(cublasSetMathMode(cublas.handle, CUBLAS_PEDANTIC_MATH));
  MUST(cublasGetMathMode(cublas.handle, &math_mode));
  CHECK(math_mode == CUBLAS_PEDANTIC_MATH);
  CHECK(cublasSetMathMode(cublas.handle, static_cast<cublasMath_t>(77)) == CUBLAS_STATUS_INVALID_VALUE);
  MUST(cublasGetVersion(cublas.handle, &version));
  CHECK(version == CUBLAS_VERSION);
  CHECK(std::string(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)) == "CUBLAS_STATUS_NOT_SUPPORTED");
  const OnDevice<char> workspace(1024);
  CHECK(cublasSetWorkspace(cublas.handle, workspace.data() + 16, 512) == CUBLAS_STATUS_INVALID_VALUE);
  MUST(cublasSetWorkspace(cublas.handle, workspace.data(), 1024));
}
