// Matrix products.
//
// float32 runs through oneDNN on tiles that depend on the sizes alone; thin float32 products and float64 run
// through loops of our own. Half types are summed in float32 and rounded once at the end: float16 is
// converted before, and so is bfloat16 where the machine has no instructions for it (which take numbers below
// 2^-126 for 0). Integers wrap around. Transposed and batched operands are read where they lie. A product
// over no elements is 0. Results have the same bits for any number of threads.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// PyTorch's matmul: 1-d operands are a row on the left, a column on the right, and their dimension vanishes;
/// 2-d are matrices; more dimensions are batches, which broadcast. Both of one dtype (not bool). Throws Error
/// when dtypes, devices or sizes do not fit, or for a 0-d operand.
Tensor matmul(const Tensor& a, const Tensor& b);

/// y = x W^T + bias: x [..., in], weight [out, in], bias [out] or undefined; y [..., out]. Floating-point of
/// one dtype. Throws Error when dtypes, devices or shapes do not fit.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// A product of row-major matrices: op(a) is m x k, op(b) k x n, c m x n. A transposed operand lies in memory
/// as k x m (n x k). Leading dimensions are the distances between rows as they lie.
struct GemmSizes {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
};

/// c = alpha op(a) op(b) + beta c, spread over the pool's threads (or on the caller's alone inside
/// parallel_for). With beta 0, c is not read.
void gemm(const GemmSizes& sizes, float alpha, const float* a, const float* b, float beta, float* c);
void gemm(const GemmSizes& sizes, double alpha, const double* a, const double* b, double beta, double* c);

}  // namespace tern::kernels
