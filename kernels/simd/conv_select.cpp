#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/isa.h>

namespace tern::simd {

namespace baseline {
extern const ConvKernels conv_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const ConvKernels conv_table;
}
namespace avx512 {
extern const ConvKernels conv_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const ConvKernels& conv_kernels() {
  static const ConvKernels& chosen = select(baseline::conv_table, avx2::conv_table, avx512::conv_table);
  return chosen;
}

}  // namespace tern::simd
