// Products of the simulated cuBLAS, compared with sums in double.
#include <cublas_v2.h>
#include <tern/tests/simgpu/testing.h>

using namespace simgpu;

namespace {

struct Cublas {
  cublasHandle_t handle = nullptr;
  Cublas() { MUST(cublasCreate(&handle)); }
  ~Cublas() { MUST(cublasDestroy(handle)); }
};

struct Shape {
  cublasOperation_t op_a, op_b;
  int m, n, k, lda, ldb, ldc;
};

Shape shape(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, int gap) {
  return {op_a,   op_b, m, n, k, (op_a == CUBLAS_OP_N ? m : k) + gap, (op_b == CUBLAS_OP_N ? k : n) + gap,
          m + gap};
}

// Where an element of a column-major matrix lies.
size_t place(int row, int column, int leading) {
  return static_cast<size_t>(row) + static_cast<size_t>(column) * static_cast<size_t>(leading);
}

std::vector<double> expected(const Shape& s, const std::vector<double>& a, const std::vector<double>& b,
                             std::vector<double> c, double alpha, double beta) {
  for (int j = 0; j < s.n; ++j) {
    for (int i = 0; i < s.m; ++i) {
      double sum = 0;
      for (int l = 0; l < s.k; ++l) {
        sum += a[s.op_a == CUBLAS_OP_N ? place(i, l, s.lda) : place(l, i, s.lda)] *
               b[s.op_b == CUBLAS_OP_N ? place(l, j, s.ldb) : place(j, l, s.ldb)];
      }
      double& element = c[place(i, j, s.ldc)];
      element = alpha * sum + (beta == 0 ? 0 : beta * element);
    }
  }
  return c;
}

template <class In, class Out, class Scale>
void check_product(cudaDataType in, cudaDataType out, cublasComputeType_t compute, int gap = 4) {
  const Cublas cublas;
  for (const auto op_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const auto op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      const Shape s = shape(op_a, op_b, 8, 12, 4, gap);
      const auto a = small_numbers<In>(place(0, 12, s.lda), 1);
      const auto b = small_numbers<In>(place(0, 12, s.ldb), 2);
      const auto c = small_numbers<Out>(place(0, s.n, s.ldc), 3);
      const OnDevice<In> on_a(a), on_b(b);
      const OnDevice<Out> on_c(c);
      const Scale alpha = rounded<Scale>(2), beta = rounded<Scale>(-1);
      MUST(cublasGemmEx(cublas.handle, op_a, op_b, s.m, s.n, s.k, &alpha, on_a.data(), in, s.lda, on_b.data(),
                        in, s.ldb, &beta, on_c.data(), out, s.ldc, compute, CUBLAS_GEMM_DEFAULT));
      CHECK(as_double(on_c.get()) == expected(s, as_double(a), as_double(b), as_double(c), 2, -1));
    }
  }
}

}  // namespace

TEST_CASE("gemm in every type that cublasGemmEx lists") {
  check_product<float, float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  check_product<float, float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  check_product<double, double, double>(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F);
  check_product<__half, __half, float>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
  check_product<__half, __half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F);
  check_product<__half, float, float>(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  check_product<__nv_bfloat16, __nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F_PEDANTIC);
  check_product<__nv_bfloat16, float, float>(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  check_product<int8_t, int32_t, int32_t>(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
}

TEST_CASE("gemm with factors in device memory reads them when its turn comes, and C only for a beta") {
  const Cublas cublas;
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  MUST(cublasSetStream(cublas.handle, stream));
  MUST(cublasSetPointerMode(cublas.handle, CUBLAS_POINTER_MODE_DEVICE));
  const auto a = small_numbers<float>(6, 1), b = small_numbers<float>(6, 2);
  const OnDevice<float> on_a(a), on_b(b), factors(std::vector<float>{3, 0}), c(4);
  MUST(cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, factors.data(), on_a.data(), 2,
                   on_b.data(), 3, factors.data() + 1, c.data(), 2));
  MUST(cudaStreamSynchronize(stream));
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, 0);
  CHECK(as_double(c.get()) == expected(s, as_double(a), as_double(b), std::vector<double>(4), 3, 0));
  MUST(cudaStreamDestroy(stream));
}

TEST_CASE("batches lie at a stride or behind pointers") {
  const Cublas cublas;
  const auto a = small_numbers<__half>(18, 1), b = small_numbers<__half>(6, 2);
  const OnDevice<__half> on_a(a), on_b(b), strided(12), behind(12);
  const float one = 1, zero = 0;
  MUST(cublasGemmStridedBatchedEx(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, on_a.data(),
                                  CUDA_R_16F, 2, 6, on_b.data(), CUDA_R_16F, 3, 0, &zero, strided.data(),
                                  CUDA_R_16F, 2, 4, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  std::vector<const void*> from_a, from_b;
  std::vector<void*> to;
  std::vector<double> wanted;
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, 0);
  for (int i = 0; i < 3; ++i) {
    from_a.push_back(on_a.data() + 6 * i);
    from_b.push_back(on_b.data());
    to.push_back(behind.data() + 4 * i);
    const std::vector<__half> part(a.begin() + 6 * i, a.begin() + 6 * (i + 1));
    for (double value : expected(s, as_double(part), as_double(b), std::vector<double>(4), 1, 0))
      wanted.push_back(value);
  }
  const OnDevice<const void*> pointers_a(from_a), pointers_b(from_b);
  const OnDevice<void*> pointers_c(to);
  MUST(cublasGemmBatchedEx(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, pointers_a.data(),
                           CUDA_R_16F, 2, pointers_b.data(), CUDA_R_16F, 3, &zero, pointers_c.data(),
                           CUDA_R_16F, 2, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CHECK(as_double(strided.get()) == wanted);
  CHECK(as_double(behind.get()) == wanted);
}

TEST_CASE("results are rounded once, and TF32 is seen where it is asked for") {
  const Cublas cublas;
  const float one = 1, zero = 0, fine = 1 + 0x1p-12f;
  const OnDevice<float> a(std::vector<float>{fine, 0x1p-24f}), b(std::vector<float>{1, 1}), c(1);
  const auto product = [&] {
    MUST(cublasSgemm(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 2, &one, a.data(), 2, b.data(), 2, &zero,
                     c.data(), 1));
    return c.get()[0];
  };
  CHECK(product() == fine);
  MUST(cublasSetMathMode(cublas.handle, CUBLAS_TF32_TENSOR_OP_MATH));
  CHECK(product() == 1);
  const OnDevice<__half> h(std::vector<__half>(2049, rounded<__half>(1))), r(1);
  const __half half_one = rounded<__half>(1), half_zero = rounded<__half>(0);
  MUST(cublasHgemm(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 2049, &half_one, h.data(), 2049, h.data(),
                   2049, &half_zero, r.data(), 1));
  CHECK(as_double(r.get())[0] == 2048);  // 2049 lies between two halfs; a sum kept in half would give less
}

TEST_CASE("what cublasGemmEx does not list is not supported, impossible arguments are invalid") {
  const Cublas cublas;
  const OnDevice<float> memory(std::vector<float>(64));
  const float one = 1;
  const auto product = [&](cudaDataType in, cudaDataType out, cublasComputeType_t compute, int lda = 4,
                           int m = 4) {
    return cublasGemmEx(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, m, 2, 4, &one, memory.data(), in, lda,
                        memory.data() + 16, in, 4, &one, memory.data() + 32, out, 4, compute,
                        CUBLAS_GEMM_DEFAULT);
  };
  CHECK(product(CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(product(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F_FAST_TF32) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(product(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_16F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(product(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 3) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(product(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, -1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(product(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, 0) == CUBLAS_STATUS_SUCCESS);
}
