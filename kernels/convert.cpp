#include <tern/kernels/convert.h>

#include <tern/kernels/simd/copy.h>

namespace tern::kernels {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (!std::is_arithmetic_v<From>)
    return convert<To>(static_cast<float>(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != 0;
  else if constexpr (!std::is_arithmetic_v<To>)
    return To(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

template <class To, class From>
void convert_strided(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t count) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  if (src_stride == 1 && dst_stride == 1) {
    if (const auto dense = simd::copy_kernels().convert(dtype_of<From>(), dtype_of<To>())) {
      return dense(src, dst, count);
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i * dst_stride] = convert<To>(from[i * src_stride]);
}

}  // namespace

ConvertRow convert_row(DType from, DType to) {
  return dispatch(from, [&]<class From>() {
    return dispatch(to, [&]<class To>() -> ConvertRow { return convert_strided<To, From>; });
  });
}

}  // namespace tern::kernels
