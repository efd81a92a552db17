// Conversion of rows of elements between any two dtypes.
#pragma once

#include <tern/core/dtype.h>

#include <cstdint>

namespace tern::kernels {

/// dst[i * dst_stride] = src[i * src_stride] for i < count, converted as copy.h says.
using ConvertRow = void (*)(const void* src, int64_t src_stride, void* dst, int64_t dst_stride,
                            int64_t count);

/// The function for a pair of dtypes, which may be equal.
ConvertRow convert_row(DType from, DType to);

}  // namespace tern::kernels
