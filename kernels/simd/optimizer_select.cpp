#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/optimizer.h>

namespace tern::simd {

namespace baseline {
extern const OptimizerKernels optimizer_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const OptimizerKernels optimizer_table;
}
namespace avx512 {
extern const OptimizerKernels optimizer_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const OptimizerKernels& optimizer_kernels() {
  static const OptimizerKernels& chosen =
      select(baseline::optimizer_table, avx2::optimizer_table, avx512::optimizer_table);
  return chosen;
}

}  // namespace tern::simd
