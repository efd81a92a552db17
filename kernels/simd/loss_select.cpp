#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/loss.h>

namespace tern::simd {

namespace baseline {
extern const LossKernels loss_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const LossKernels loss_table;
}
namespace avx512 {
extern const LossKernels loss_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const LossKernels& loss_kernels() {
  static const LossKernels& chosen = select(baseline::loss_table, avx2::loss_table, avx512::loss_table);
  return chosen;
}

}  // namespace tern::simd
