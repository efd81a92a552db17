#include <tern/kernels/simd/copy.h>
#include <tern/kernels/simd/gemm.h>
#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/random.h>
#include <tern/kernels/simd/reduce.h>

#include <bit>

namespace tern::simd {

namespace baseline {
extern const CopyKernels copy_table;
extern const GemmKernels gemm_table;
extern const RandomKernels random_table;
extern const ReduceKernels reduce_table;
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
extern const CopyKernels copy_table;
extern const GemmKernels gemm_table;
extern const RandomKernels random_table;
extern const ReduceKernels reduce_table;
}  // namespace avx2
namespace avx512 {
extern const CopyKernels copy_table;
extern const GemmKernels gemm_table;
extern const RandomKernels random_table;
extern const ReduceKernels reduce_table;
}  // namespace avx512
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const CopyKernels& copy_kernels() {
  static const CopyKernels& chosen = select(baseline::copy_table, avx2::copy_table, avx512::copy_table);
  return chosen;
}

const MoveFunctions& move_functions(size_t bytes) { return copy_kernels().moves[std::countr_zero(bytes)]; }

const RandomKernels& random_kernels() {
  static const RandomKernels& chosen =
      select(baseline::random_table, avx2::random_table, avx512::random_table);
  return chosen;
}

const ReduceKernels& reduce_kernels() {
  static const ReduceKernels& chosen =
      select(baseline::reduce_table, avx2::reduce_table, avx512::reduce_table);
  return chosen;
}

const GemmKernels& gemm_kernels() {
  static const GemmKernels& chosen = select(baseline::gemm_table, avx2::gemm_table, avx512::gemm_table);
  return chosen;
}

}  // namespace tern::simd
