// Products and epilogues of the simulated cuBLASLt, compared with sums in double.
#include <cublas_v2.h>
#include <tern/tests/simgpu/cublaslt/testing.h>

#include <algorithm>
#include <cmath>

using namespace simgpu;

namespace {

template <class In, class Out, class Scale = float>
void check_types(cudaDataType in, cudaDataType out, cublasComputeType_t compute, cudaDataType scale,
                 cublasOperation_t op_a, cublasOperation_t op_b, double beta = 2) {
  const LtHandle lt;
  LtProduct product(16, 32, 16, in, out, compute, scale, op_a, op_b);
  const auto a = small_numbers<In>(256, 1), b = small_numbers<In>(512, 2);
  const auto c = small_numbers<Out>(512, 3);
  const OnDevice<In> on_a(a), on_b(b);
  const OnDevice<Out> on_c(c);
  MUST(product.ask(lt.handle));
  REQUIRE(product.found > 0);
  MUST((product.run<Scale>(lt.handle, on_a.data(), on_b.data(), on_c.data(), 1, beta)));
  CHECK(as_double(on_c.get()) == product.expected(as_double(a), as_double(b), as_double(c), 1, beta));
}

/// A product with an epilogue in float; the matrices as they were, and what came out.
struct WithEpilogue {
  LtHandle lt;
  LtProduct product{8, 4, 6, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  std::vector<float> a = small_numbers<float>(48, 1), b = small_numbers<float>(24, 2),
                     bias{1, -2, 3, 0, 5, -6, 7, 8};
  OnDevice<float> on_a{a}, on_b{b}, on_c{32}, on_bias{bias};

  explicit WithEpilogue(cublasLtEpilogue_t epilogue) {
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, on_bias.data());
  }
  template <class T>
  void set_aux(const OnDevice<T>& aux, int64_t leading) {
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
  }
  std::vector<double> run() {
    MUST(product.ask(lt.handle));
    MUST(product.run(lt.handle, on_a.data(), on_b.data(), on_c.data()));
    return as_double(on_c.get());
  }
  std::vector<double> plain(bool with_bias) const {
    auto values = product.expected(as_double(a), as_double(b), {});
    for (size_t i = 0; with_bias && i < values.size(); ++i) values[i] += bias[i % 8];
    return values;
  }
};

double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

bool close(const std::vector<double>& found, const std::vector<double>& wanted) {
  bool same = found.size() == wanted.size();
  for (size_t i = 0; same && i < found.size(); ++i)
    same = std::abs(found[i] - wanted[i]) <= 1e-6 * (1 + std::abs(wanted[i]));
  return same;
}

}  // namespace

TEST_CASE("matmul in every type that the documentation lists") {
  for (const auto op_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const auto op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      check_types<float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, op_a, op_b);
      check_types<double, double, double>(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, op_a, op_b);
      check_types<__half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, op_a, op_b);
      check_types<__half, __half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F, op_a, op_b);
      check_types<__nv_bfloat16, __nv_bfloat16>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F,
                                                op_a, op_b);
      check_types<__nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, op_a, op_b);
    }
  }
  check_types<int8_t, int32_t, int32_t>(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUBLAS_OP_T,
                                        CUBLAS_OP_N);
  check_types<__nv_fp8_e4m3, __nv_bfloat16>(CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F,
                                            CUBLAS_OP_T, CUBLAS_OP_N);
}

TEST_CASE("row-major matrices, and batches at a stride with a shared factor") {
  const LtHandle lt;
  LtProduct product(4, 8, 4, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto rows = [&](cublasLtMatrixLayout_t layout, int64_t leading, int64_t stride) {
    product.set(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
    product.set(layout, CUBLASLT_MATRIX_LAYOUT_LD, leading);
    product.set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
    product.set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  };
  rows(product.a, 4, 16);
  rows(product.b, 8, 0);
  rows(product.c, 8, 32);
  const auto a = small_numbers<float>(32, 1), b = small_numbers<float>(32, 2);
  const OnDevice<float> on_a(a), on_b(b), on_c(64);
  MUST(product.ask(lt.handle));
  MUST(product.run(lt.handle, on_a.data(), on_b.data(), on_c.data()));
  const auto found = on_c.get();
  for (size_t at = 0; at < 64; ++at) {
    float sum = 0;
    for (size_t l = 0; l < 4; ++l) sum += a[at / 32 * 16 + at / 8 % 4 * 4 + l] * b[l * 8 + at % 8];
    CHECK(found[at] == sum);
  }
}

TEST_CASE("bias, ReLU with its bits, and their gradients") {
  WithEpilogue biased(CUBLASLT_EPILOGUE_BIAS);
  CHECK(biased.run() == biased.plain(true));
  WithEpilogue forward(CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  const OnDevice<uint8_t> bits(std::vector<uint8_t>(64));
  forward.set_aux(bits, 128);
  const auto sums = forward.plain(true);
  const auto found = forward.run();
  for (size_t i = 0; i < 32; ++i) {
    CHECK(found[i] == std::max(0.0, sums[i]));
    CHECK((bits.get()[i / 8 * 16] >> (i % 8) & 1) == (sums[i] > 0));
  }
  WithEpilogue backward(CUBLASLT_EPILOGUE_DRELU_BGRAD);
  backward.set_aux(bits, 128);
  const auto gradient = backward.run(), plain = backward.plain(false);
  std::vector<double> sum(8);
  for (size_t i = 0; i < 32; ++i) {
    CHECK(gradient[i] == (sums[i] > 0 ? plain[i] : 0));
    sum[i % 8] += gradient[i];
  }
  CHECK(as_double(backward.on_bias.get()) == sum);
}

TEST_CASE("GELU keeps its input, and its gradient uses it") {
  WithEpilogue forward(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  const OnDevice<float> input(32);
  forward.set_aux(input, 8);
  const auto sums = forward.plain(true);
  std::vector<double> wanted, gradient;
  for (double x : sums) wanted.push_back(gelu(x));
  CHECK(close(forward.run(), wanted));
  CHECK(as_double(input.get()) == sums);
  WithEpilogue backward(CUBLASLT_EPILOGUE_DGELU_BGRAD);
  backward.set_aux(input, 8);
  const auto plain = backward.plain(false);
  std::vector<double> sum(8);
  for (size_t i = 0; i < 32; ++i) {
    const double slope = (gelu(sums[i] + 1e-6) - gelu(sums[i] - 1e-6)) / 2e-6;
    gradient.push_back(plain[i] * slope);
    sum[i % 8] += gradient[i];
  }
  CHECK(close(backward.run(), gradient));
  CHECK(close(as_double(backward.on_bias.get()), sum));
}

TEST_CASE("bias gradients of the factors") {
  WithEpilogue of_a(CUBLASLT_EPILOGUE_BGRADA), of_b(CUBLASLT_EPILOGUE_BGRADB);
  CHECK(of_a.run() == of_a.plain(false));
  CHECK(of_b.run() == of_b.plain(false));
  for (size_t i = 0; i < 8; ++i) {
    float sum = 0;
    for (size_t l = 0; l < 6; ++l) sum += of_a.a[i + 8 * l];
    CHECK(of_a.on_bias.get()[i] == sum);
  }
  for (size_t j = 0; j < 4; ++j) {
    float sum = 0;
    for (size_t l = 0; l < 6; ++l) sum += of_b.b[l + 6 * j];
    CHECK(of_b.on_bias.get()[j] == sum);
  }
}

TEST_CASE("scales of float8 multiply, and the largest magnitude comes back") {
  const LtHandle lt;
  LtProduct product(16, 16, 16, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_T,
                    CUBLAS_OP_N);
  const auto a = small_numbers<__nv_fp8_e4m3>(256, 1);
  const OnDevice<__nv_fp8_e4m3> on_a(a);
  const OnDevice<__nv_bfloat16> on_c(256);
  const OnDevice<float> scales(std::vector<float>{2, 0.25f}), largest(1);
  product.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales.data());
  product.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales.data() + 1);
  product.set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, largest.data());
  MUST(product.ask(lt.handle));
  MUST(product.run(lt.handle, on_a.data(), on_a.data(), on_c.data()));
  const auto wanted = product.expected(as_double(a), as_double(a), {}, 0.5);
  CHECK(as_double(on_c.get()) == wanted);
  double top = 0;
  for (double value : wanted) top = std::max(top, std::abs(value));
  CHECK(largest.get()[0] == static_cast<float>(top));
}

TEST_CASE("a handle of cuBLAS is one of cuBLASLt") {
  cublasHandle_t handle = nullptr;
  MUST(cublasCreate(&handle));
  WithEpilogue plain(CUBLASLT_EPILOGUE_DEFAULT);
  MUST(plain.product.ask(reinterpret_cast<cublasLtHandle_t>(handle)));
  MUST(plain.product.run(reinterpret_cast<cublasLtHandle_t>(handle), plain.on_a.data(), plain.on_b.data(),
                         plain.on_c.data()));
  CHECK(as_double(plain.on_c.get()) == plain.plain(false));
  MUST(cublasDestroy(handle));
}

TEST_CASE("factors in device memory, one for all or one a row") {
  WithEpilogue plain(CUBLASLT_EPILOGUE_DEFAULT);
  LtProduct& product = plain.product;
  const OnDevice<float> factors(std::vector<float>{3, 0});
  product.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  MUST(product.ask(plain.lt.handle));
  MUST(cublasLtMatmul(plain.lt.handle, product.operation, factors.data(), plain.on_a.data(), product.a,
                      plain.on_b.data(), product.b, factors.data() + 1, plain.on_c.data(), product.c,
                      plain.on_c.data(), product.c, &product.results[0].algo, nullptr, 0, nullptr));
  CHECK(as_double(plain.on_c.get()) == product.expected(as_double(plain.a), as_double(plain.b), {}, 3));

  LtProduct integers(4, 4, 4, CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I, CUDA_R_32F, CUBLAS_OP_T);
  const auto a = small_numbers<int8_t>(16, 1), b = small_numbers<int8_t>(16, 2);
  const OnDevice<int8_t> on_a(a), on_b(b), on_c(16);
  const OnDevice<float> rows(std::vector<float>{1, 2, -1, 100});
  const float zero = 0;
  integers.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST);
  MUST(integers.ask(plain.lt.handle));
  MUST(cublasLtMatmul(plain.lt.handle, integers.operation, rows.data(), on_a.data(), integers.a, on_b.data(),
                      integers.b, &zero, on_c.data(), integers.c, on_c.data(), integers.c,
                      &integers.results[0].algo, nullptr, 0, nullptr));
  auto wanted = integers.expected(as_double(a), as_double(b), {});
  for (size_t i = 0; i < 16; ++i) {
    wanted[i] = std::clamp(wanted[i] * std::vector<double>{1, 2, -1, 100}[i % 4], -128.0, 127.0);
  }
  CHECK(as_double(on_c.get()) == wanted);
}
