// Tensors as plain bytes, and the reduction of pieces of them.
#pragma once

#include <tern/distributed/process_group.h>
#include <tern/kernels/simd/combine.h>

#include <cstring>

namespace tern::distributed {

inline char* bytes_of(const Tensor& x) { return static_cast<char*>(x.data()); }
inline size_t size_in_bytes(const Tensor& x) { return static_cast<size_t>(x.numel()) * size_of(x.dtype()); }

inline void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

/// out = the reduction of parts[0], parts[1], …, in this order, `bytes` bytes each. `out` may be one of them.
inline void combine(DType dtype, ReduceOp op, const std::vector<const void*>& parts, void* out,
                    size_t bytes) {
  const simd::CombineFunction function =
      simd::combine_kernels().of[static_cast<size_t>(dtype)][static_cast<size_t>(op)];
  function(parts.data(), static_cast<int>(parts.size()), out, static_cast<int64_t>(bytes / size_of(dtype)));
}

}  // namespace tern::distributed
