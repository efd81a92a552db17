// Each misuse of the simulated cuBLASLt fires its report, in child processes.
#include <tern/tests/simgpu/cublaslt/testing.h>

using namespace simgpu;

namespace {

std::string with_product(const std::function<void(cublasLtHandle_t, LtProduct&, float*)>& body) {
  return reports_of([&] {
    const LtHandle lt;
    const OnDevice<float> memory(std::vector<float>(48));
    LtProduct product(4, 4, 4, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    MUST(product.ask(lt.handle));
    body(lt.handle, product, memory.data());
    cudaDeviceSynchronize();
  });
}

}  // namespace

TEST_CASE("right use reports nothing") {
  CHECK(with_product([](auto lt, auto& product, float* m) { product.run(lt, m, m + 16, m + 32); }).empty());
}

TEST_CASE("descriptors that are null, destroyed, never initialised or forgotten") {
  const auto null = with_product([](auto lt, auto& product, float* m) {
    const cublasLtMatrixLayout_t kept = std::exchange(product.a, nullptr);
    must(product.run(lt, m, m + 16, m + 32) == CUBLAS_STATUS_INVALID_VALUE, "an error");
    product.a = kept;
  });
  CHECK(contains(null, "matrix layout is null"));
  const auto destroyed = reports_of([] {
    cublasLtMatmulPreference_t preference = nullptr;
    MUST(cublasLtMatmulPreferenceCreate(&preference));
    MUST(cublasLtMatmulPreferenceDestroy(preference));
    cublasLtMatmulPreferenceDestroy(preference);
  });
  CHECK(contains(destroyed, "preference is already destroyed"));
  const auto fresh = reports_of([] {
    cublasLtMatmulDescOpaque_t operation = {};
    const int32_t op = CUBLAS_OP_T;
    cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op);
  });
  CHECK(contains(fresh, "matmul descriptor was never initialised"));
  const auto forgotten = reports_of([] {
    cublasLtMatrixLayout_t layout = nullptr;
    MUST(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1));
  });
  CHECK(contains(forgotten, "cuBLASLt matrix layout"));
}

TEST_CASE("handles of another device or destroyed") {
  const auto device = with_product([](auto lt, auto& product, float* m) {
    MUST(cudaSetDevice(1));
    product.run(lt, m, m + 16, m + 32);
    MUST(cudaSetDevice(0));
  });
  CHECK(contains(device, "the handle belongs to device 0"));
  const auto destroyed = with_product([](auto, auto& product, float*) {
    cublasLtHandle_t other = nullptr;
    MUST(cublasLtCreate(&other));
    MUST(cublasLtDestroy(other));
    product.ask(other);
  });
  CHECK(contains(destroyed, "cuBLASLt handle is already destroyed"));
}

TEST_CASE("memory that overlaps, or is too short, for the epilogue too") {
  const auto overlap =
      with_product([](auto lt, auto& product, float* m) { product.run(lt, m, m + 16, m + 24); });
  CHECK(contains(overlap, "overlaps"));
  const auto bias = with_product([](auto lt, auto& product, float* m) {
    const OnDevice<float> short_bias(std::vector<float>(3));
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, short_bias.data());
    MUST(product.ask(lt));
    MUST(product.run(lt, m, m + 16, m + 32));
    cudaDeviceSynchronize();
  });
  CHECK(!bias.empty());
}
