#include <tern/kernels/simd/attention.h>
#include <tern/kernels/simd/isa.h>

namespace tern::simd {

namespace baseline {
extern const AttentionKernels attention_table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const AttentionKernels attention_table;
}
namespace avx512 {
extern const AttentionKernels attention_table;
}
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

const AttentionKernels& attention_kernels() {
  static const AttentionKernels& chosen =
      select(baseline::attention_table, avx2::attention_table, avx512::attention_table);
  return chosen;
}

}  // namespace tern::simd
