#include <tern/kernels/simd/conv_narrow.h>
#include <tern/kernels/simd/isa.h>

namespace tern::simd {

namespace baseline {
extern const NarrowConvKernels narrow_conv_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const NarrowConvKernels narrow_conv_table;
}
namespace avx512 {
extern const NarrowConvKernels narrow_conv_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const NarrowConvKernels& narrow_conv_kernels() {
  static const NarrowConvKernels& chosen =
      select(baseline::narrow_conv_table, avx2::narrow_conv_table, avx512::narrow_conv_table);
  return chosen;
}

}  // namespace tern::simd
