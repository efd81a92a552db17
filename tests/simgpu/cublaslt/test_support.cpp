// What the simulated cuBLASLt refuses, and what its algorithms ask for.
#include <tern/tests/simgpu/cublaslt/testing.h>

#include <cstdlib>

using namespace simgpu;

namespace {

cublasStatus_t answer(cudaDataType in, cudaDataType out, cublasComputeType_t compute, cudaDataType scale,
                      cublasOperation_t op_a = CUBLAS_OP_T, int size = 16) {
  const LtHandle lt;
  LtProduct product(size, size, size, in, out, compute, scale, op_a);
  const cublasStatus_t status = product.ask(lt.handle);
  CHECK((status == CUBLAS_STATUS_SUCCESS) == (product.found > 0));
  return status;
}

}  // namespace

TEST_CASE("types that the documentation does not list have no algorithm") {
  const auto no = CUBLAS_STATUS_NOT_SUPPORTED, yes = CUBLAS_STATUS_SUCCESS;
  CHECK(answer(CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F) == no);
  CHECK(answer(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_32F) == no);
  CHECK(answer(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F) == no);
  CHECK(answer(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F, CUDA_R_32F) == no);
  CHECK(answer(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I) == yes);
  CHECK(answer(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUBLAS_OP_N) == no);
  CHECK(answer(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUBLAS_OP_T, 6) == no);
  CHECK(answer(CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F) == yes);
  CHECK(answer(CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_N) == no);
  CHECK(answer(CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_T, 24) == no);
  CHECK(answer(CUDA_R_8F_E5M2, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F) == no);
}

TEST_CASE("the environment takes all algorithms away, or those with an epilogue") {
  const LtHandle lt;
  LtProduct product(8, 8, 8, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  setenv("SIMGPU_NO_CUBLASLT", "epilogue", 1);
  CHECK(product.ask(lt.handle) == CUBLAS_STATUS_SUCCESS);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU);
  CHECK(product.ask(lt.handle) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(product.found == 0);
  setenv("SIMGPU_NO_CUBLASLT", "1", 1);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  CHECK(product.ask(lt.handle) == CUBLAS_STATUS_NOT_SUPPORTED);
  unsetenv("SIMGPU_NO_CUBLASLT");
  CHECK(product.ask(lt.handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("an algorithm for aligned memory refuses other memory") {
  const LtHandle lt;
  LtProduct product(8, 8, 8, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const OnDevice<float> memory(std::vector<float>(256));
  float* odd = memory.data() + 1;
  MUST(product.ask(lt.handle));
  MUST(product.run(lt.handle, memory.data(), memory.data() + 64, memory.data() + 128));
  CHECK(product.run(lt.handle, odd, memory.data() + 68, memory.data() + 136) == CUBLAS_STATUS_NOT_SUPPORTED);
  product.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{4});
  MUST(product.ask(lt.handle));
  MUST(product.run(lt.handle, odd, memory.data() + 68, memory.data() + 136));
}

TEST_CASE("workspace is used where the preference offers it, and must then be there") {
  const LtHandle lt;
  LtProduct product(8, 8, 8, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const OnDevice<float> memory(std::vector<float>(256));
  const OnDevice<char> workspace(4096);
  product.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{4096});
  MUST(product.ask(lt.handle));
  const size_t needed = product.results[0].workspaceSize;
  CHECK(needed > 0);
  CHECK(product.results[1].workspaceSize == 0);
  const auto run = [&](void* at, size_t bytes, int which) {
    float* a = memory.data();
    return product.run(lt.handle, a, a + 64, a + 128, 1, 0, at, bytes, which);
  };
  CHECK(run(workspace.data(), needed, 0) == CUBLAS_STATUS_SUCCESS);
  CHECK(run(workspace.data(), needed - 1, 0) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(run(workspace.data() + 16, needed, 0) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(run(nullptr, 0, 1) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("attributes have their sizes, descriptors their shapes, algorithms their types") {
  const LtHandle lt;
  LtProduct product(8, 8, 8, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const OnDevice<float> memory(std::vector<float>(256));
  const int64_t wide = 3;
  CHECK(cublasLtMatmulDescSetAttribute(product.operation, CUBLASLT_MATMUL_DESC_TRANSA, &wide, sizeof wide) ==
        CUBLAS_STATUS_INVALID_VALUE);
  int32_t compute = 0;
  size_t written = 0;
  MUST(cublasLtMatmulDescGetAttribute(product.operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute,
                                      sizeof compute, &written));
  CHECK(compute == CUBLAS_COMPUTE_32F);
  CHECK(written == sizeof compute);
  MUST(product.ask(lt.handle));
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU);
  CHECK(product.run(lt.handle, memory.data(), memory.data() + 64, memory.data() + 128) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_AUX);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{8});
  CHECK(product.ask(lt.handle) == CUBLAS_STATUS_INVALID_VALUE);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  product.set(product.a, CUBLASLT_MATRIX_LAYOUT_COLS, uint64_t{7});
  CHECK(product.ask(lt.handle) == CUBLAS_STATUS_INVALID_VALUE);
}
