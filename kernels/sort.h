// Order along a dimension. NaN counts as larger than every number, and -0 equals 0; of equals, the first
// comes first, in descending order too. Any dtype; the same for any number of threads.
#pragma once

#include <tern/kernels/reduce.h>

namespace tern::kernels {

/// All elements along `dim` in order, and where they were.
ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending);

/// The k largest (smallest) elements along `dim` from the first on in descending (ascending) order, and where
/// they were. Throws Error unless 0 <= k <= the size; without dimensions k is 1.
ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest);

}  // namespace tern::kernels
