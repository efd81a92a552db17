#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/normalization.h>

namespace tern::simd {

namespace baseline {
extern const NormKernels norm_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const NormKernels norm_table;
}
namespace avx512 {
extern const NormKernels norm_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const NormKernels& norm_kernels() {
  static const NormKernels& chosen = select(baseline::norm_table, avx2::norm_table, avx512::norm_table);
  return chosen;
}

}  // namespace tern::simd
