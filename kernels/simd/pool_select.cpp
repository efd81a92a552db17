#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/pool.h>

namespace tern::simd {

namespace baseline {
extern const PoolKernels pool_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const PoolKernels pool_table;
}
namespace avx512 {
extern const PoolKernels pool_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const PoolKernels& pool_kernels() {
  static const PoolKernels& chosen = select(baseline::pool_table, avx2::pool_table, avx512::pool_table);
  return chosen;
}

}  // namespace tern::simd
