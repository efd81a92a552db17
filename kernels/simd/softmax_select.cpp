#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/softmax.h>

namespace tern::simd {

namespace baseline {
extern const SoftmaxKernels softmax_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const SoftmaxKernels softmax_table;
}
namespace avx512 {
extern const SoftmaxKernels softmax_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const SoftmaxKernels& softmax_kernels() {
  static const SoftmaxKernels& chosen =
      select(baseline::softmax_table, avx2::softmax_table, avx512::softmax_table);
  return chosen;
}

}  // namespace tern::simd
