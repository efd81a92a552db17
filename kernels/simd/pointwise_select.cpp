#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/pointwise.h>

namespace tern::simd {

namespace baseline {
extern const PointwiseKernels pointwise_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const PointwiseKernels pointwise_table;
}
namespace avx512 {
extern const PointwiseKernels pointwise_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const PointwiseKernels& pointwise_kernels() {
  static const PointwiseKernels& chosen =
      select(baseline::pointwise_table, avx2::pointwise_table, avx512::pointwise_table);
  return chosen;
}

}  // namespace tern::simd
