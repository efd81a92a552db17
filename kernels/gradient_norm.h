// What clipping of gradients does to each of them, in one pass.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// The sum of squares of a floating-point x, in double and in a fixed order for any number of threads: of
/// float32 and half types it never overflows. NaN and infinities show in it.
double sum_of_squares(const Tensor& x);

/// x *= factor in place; half types are multiplied in float32 and rounded once. Throws Error for a dtype that
/// is not floating-point and when x overlaps itself.
void scale_(const Tensor& x, double factor);

}  // namespace tern::kernels
