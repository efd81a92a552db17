// Copies of other dtype, device or memory order. Differentiable between floating-point dtypes.
#pragma once

#include <tern/core/tensor.h>

namespace tern {

/// x itself when it has the dtype (is on the device) already.
Tensor to(const Tensor& x, DType dtype);
Tensor to(const Tensor& x, Device device);
/// A dense copy in x's order of dimensions.
Tensor clone(const Tensor& x);
/// x itself when it is dense in `format` already.
Tensor contiguous(const Tensor& x, MemoryFormat format = MemoryFormat::contiguous);

}  // namespace tern
