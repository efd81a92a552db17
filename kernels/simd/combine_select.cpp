#include <tern/kernels/simd/combine.h>
#include <tern/kernels/simd/isa.h>

namespace tern::simd {

namespace baseline {
extern const CombineKernels combine_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const CombineKernels combine_table;
}
namespace avx512 {
extern const CombineKernels combine_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const CombineKernels& combine_kernels() {
  static const CombineKernels& chosen =
      select(baseline::combine_table, avx2::combine_table, avx512::combine_table);
  return chosen;
}

}  // namespace tern::simd
