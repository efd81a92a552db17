// What backward needs to know of an operand that was broadcast and converted on its way in.
#pragma once

#include <tern/kernels/convert.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/reduce.h>

namespace tern {

struct Operand {
  explicit Operand(const Tensor& x) : shape(x.shape()), dtype(x.dtype()) {}
  /// The gradient of the operand itself from the one of what it became.
  Tensor gradient(const Tensor& full) const { return kernels::to(kernels::sum_to(full, shape), dtype); }
  Shape shape;
  DType dtype;
};

}  // namespace tern
