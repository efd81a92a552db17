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

  GemmSizes sizes;
  Method method;
  int64_t tile_m, tile_n;
  int64_t tiles;
  int64_t tiles_per_call;  ///< so many are worth handing to a thread

  /// c = alpha op(a) op(b) + beta c for one tile; `bias` (n elements, or null) replaces beta c.
  void run(int64_t tile, T alpha, const T* a, const T* b, T beta, const T* bias, T* c) const;
};

}  // namespace tern::kernels
