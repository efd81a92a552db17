// A product of cuBLASLt with everything that its tests vary, and the same in double.
#pragma once

#include <cublasLt.h>
#include <tern/tests/simgpu/testing.h>

namespace simgpu {

struct LtHandle {
  cublasLtHandle_t handle = nullptr;
  LtHandle() { MUST(cublasLtCreate(&handle)); }
  ~LtHandle() { MUST(cublasLtDestroy(handle)); }
};

/// Descriptors of a product m x n x k of packed matrices, column by column.
struct LtProduct {
  int m, n, k;
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t results[3] = {};
  int found = 0;

  LtProduct(int rows, int columns, int inner, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
            cudaDataType scale, cublasOperation_t op_of_a = CUBLAS_OP_N,
            cublasOperation_t op_of_b = CUBLAS_OP_N)
      : m(rows), n(columns), k(inner), op_a(op_of_a), op_b(op_of_b) {
    const auto size = [](int number) { return static_cast<uint64_t>(number); };
    MUST(cublasLtMatmulDescCreate(&operation, compute, scale));
    MUST(cublasLtMatmulPreferenceCreate(&preference));
    set(CUBLASLT_MATMUL_DESC_TRANSA, op_a);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op_b);
    const int rows_a = op_a == CUBLAS_OP_N ? m : k, rows_b = op_b == CUBLAS_OP_N ? k : n;
    MUST(cublasLtMatrixLayoutCreate(&a, in, size(rows_a), size(m + k - rows_a), rows_a));
    MUST(cublasLtMatrixLayoutCreate(&b, in, size(rows_b), size(n + k - rows_b), rows_b));
    MUST(cublasLtMatrixLayoutCreate(&c, out, size(m), size(n), m));
  }
  LtProduct(const LtProduct&) = delete;
  ~LtProduct() {
    for (auto* layout : {a, b, c}) MUST(cublasLtMatrixLayoutDestroy(layout));
    MUST(cublasLtMatmulPreferenceDestroy(preference));
    MUST(cublasLtMatmulDescDestroy(operation));
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    MUST(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
  }
  template <class T>
  void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
    MUST(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value));
  }
  template <class T>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    MUST(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
  }

  cublasStatus_t ask(cublasLtHandle_t handle) {
    return cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, c, preference, 3, results, &found);
  }
  template <class Scale = float, class In, class Out>
  cublasStatus_t run(cublasLtHandle_t handle, In* on_a, In* on_b, Out* on_c, double alpha = 1,
                     double beta = 0, void* workspace = nullptr, size_t bytes = 0, int which = 0) {
    const Scale factor_a = rounded<Scale>(alpha), factor_c = rounded<Scale>(beta);
    return cublasLtMatmul(handle, operation, &factor_a, on_a, a, on_b, b, &factor_c, on_c, c, on_c, c,
                          &results[which].algo, workspace, bytes, nullptr);
  }

  /// alpha op(A) op(B) + beta C.
  std::vector<double> expected(const std::vector<double>& of_a, const std::vector<double>& of_b,
                               const std::vector<double>& of_c, double alpha = 1, double beta = 0) const {
    std::vector<double> result;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += of_a[static_cast<size_t>(op_a == CUBLAS_OP_N ? i + l * m : l + i * k)] *
                 of_b[static_cast<size_t>(op_b == CUBLAS_OP_N ? l + j * k : j + l * n)];
        }
        result.push_back(alpha * sum + (beta == 0 ? 0 : beta * of_c[result.size()]));
      }
    }
    return result;
  }
};

}  // namespace simgpu
