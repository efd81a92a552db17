// Products of small or thin matrices on raw pointers, where packing operands would cost more than it saves:
// the inner work of kernels/gemm.cpp. Operands are read where they lie.
#pragma once

#include <cstdint>

namespace tern::simd {

/// c[i * ldc + j] = alpha * sum over p of a[i * a_row + p * a_step] * b(p, j), plus c itself with
/// `accumulate`.
template <class S>
struct GemmTask {
  int64_t m, n, k;
  S alpha;
  const S* a;
  int64_t a_row, a_step;
  const S* b;
  int64_t ldb;  ///< between rows of b as it lies: of length n in `outer`, of length k in `dot`
  S* c;
  int64_t ldc;
  bool accumulate;
};

template <class S>
struct GemmLoops {
  /// b(p, j) = b[p * ldb + j].
  void (*outer)(const GemmTask<S>&);
  /// b(p, j) = b[j * ldb + p]; a_step must be 1.
  void (*dot)(const GemmTask<S>&);
};

/// One instruction set's functions.
struct GemmKernels {
  GemmLoops<float> for_float;
  GemmLoops<double> for_double;
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread.
const GemmKernels& gemm_kernels();

}  // namespace tern::simd
