// How a matrix product is cut into tiles, and the computation of one: for products that run as parts of a
// larger parallel loop (batches).
#pragma once

#include <tern/kernels/matmul.h>

namespace tern::kernels {

/// The way a product is computed: depends on its sizes alone.
template <class T>
struct GemmPlan {
  enum class Method : unsigned char { library, outer, dot };

  /// Throws Error where leading dimensions are smaller than rows.
  explicit GemmPlan(const GemmSizes& product);
  GemmPlan(const GemmSizes& product, Method way);

  GemmSizes sizes;
  Method method;
  int64_t tile_m, tile_n;
  int64_t tiles;
  int64_t tiles_per_call;  ///< so many are worth handing to a thread

  /// c = alpha op(a) op(b) + beta c for one tile; `bias` (n elements, or null) replaces beta c. In is T; or,
  /// where multiplies_bfloat16() is true, the method library and T float, BFloat16.
  template <class In>
  void run(int64_t tile, T alpha, const In* a, const In* b, T beta, const T* bias, T* c) const;
};

/// Whether this machine has instructions for products of bfloat16 that accumulate in float32, and oneDNN uses
/// them.
bool multiplies_bfloat16();

}  // namespace tern::kernels
