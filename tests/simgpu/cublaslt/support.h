// Which products cuBLASLt documents, and for which of its algorithms. In doubt the answer is no: a program
// that finds its way around a "not supported" here does so on hardware too.
#pragma once

#include <tern/tests/simgpu/cublaslt/descriptors.h>
#include <tern/tests/simgpu/product.h>

namespace simgpu::cublaslt {

struct Problem {
  Operation operation;
  Layout a, b, c, d;

  int64_t rows() const { return static_cast<int64_t>(d.rows); }
  int64_t columns() const { return static_cast<int64_t>(d.columns); }
  int64_t inner() const { return static_cast<int64_t>(operation.op_a == CUBLAS_OP_N ? a.columns : a.rows); }
  bool has(uint32_t bit) const { return (operation.epilogue & bit) != 0; }
  cudaDataType bias_type() const;
  cudaDataType aux_type() const;
  bool is_float8() const;
};

/// Bits of cublasLtEpilogue_t.
constexpr uint32_t epilogue_relu = 2, epilogue_bias = 4, epilogue_drelu = 8, epilogue_bias_gradient = 16,
                   epilogue_gelu = 32, epilogue_dgelu = 64, epilogue_aux = 128;

/// Whether the descriptors are possible at all, and if so supported on the current device.
cublasStatus_t check_support(const Problem& problem);

/// The alignment in bytes of everything that cuBLASLt's fast algorithms want.
constexpr uint32_t fast_alignment = 16;

/// Whether leading dimensions and strides let the fast algorithms run; pointers are another question.
bool is_aligned(const Layout& layout);

}  // namespace simgpu::cublaslt
