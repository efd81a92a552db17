#include <tern/kernels/simd/isa.h>
#include <tern/kernels/simd/recurrent.h>

namespace tern::simd {

namespace baseline {
extern const RecurrentKernels recurrent_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const RecurrentKernels recurrent_table;
}
namespace avx512 {
extern const RecurrentKernels recurrent_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const RecurrentKernels& recurrent_kernels() {
  static const RecurrentKernels& chosen =
      select(baseline::recurrent_table, avx2::recurrent_table, avx512::recurrent_table);
  return chosen;
}

}  // namespace tern::simd
