// Copies: between layouts, dtypes and devices.
//
// Any strides are served; dense tensors of one order and dtype move at the speed of memcpy, transpositions
// (NCHW to NHWC and back, 2-d) in blocks. float32 to float16 and bfloat16 rounds to nearest, even; float to
// integer truncates; anything but zero is true. Conversion of a value that the target cannot hold is
// undefined, as in C++.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// x itself when it lies in `format` already, otherwise a dense copy that does.
Tensor contiguous(const Tensor& x, MemoryFormat format = MemoryFormat::contiguous);

/// dst = src, broadcast to dst's shape and converted to its dtype; across CPU devices too. Throws Error when
/// src does not broadcast, or dst overlaps itself (an expanded view). src may be another view of dst's
/// memory: what it held before is copied.
void copy(const Tensor& src, const Tensor& dst);

/// x itself when it has `dtype` already, otherwise a converted copy in x's order of dimensions.
Tensor to(const Tensor& x, DType dtype);

/// x itself when it is on `device` already, otherwise a copy there in x's order of dimensions.
Tensor to(const Tensor& x, Device device);

/// A dense copy in x's order of dimensions.
Tensor clone(const Tensor& x);

}  // namespace tern::kernels
