#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/resize.h>

namespace tern::simd {

namespace baseline {
extern const ResizeKernels resize_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const ResizeKernels resize_table;
}
namespace avx512 {
extern const ResizeKernels resize_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const ResizeKernels& resize_kernels() {
  static const ResizeKernels& chosen =
      select(baseline::resize_table, avx2::resize_table, avx512::resize_table);
  return chosen;
}

}  // namespace tern::simd
