#include <tern/kernels/convert.h>

#include <tern/core/saturate.h>
#include <tern/kernels/simd/copy.h>

#include <algorithm>

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
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return saturate<To>(value);
  else
    return static_cast<To>(value);
}

// Integers of floats: where all of a block fit, which is what the first loop asks, the second needs no
// selection and vectorises.
template <class To>
void convert_floats(const float* from, To* to, int64_t count) {
  constexpr int64_t block = 1024;
  for (int64_t begin = 0; begin < count; begin += block) {
    const float* x = from + begin;
    To* y = to + begin;
    const int64_t part = std::min(block, count - begin);
    int32_t outside = 0;
    for (int64_t i = 0; i < part; ++i) {
      outside |= static_cast<int32_t>(!(x[i] >= range_begin<To, float>)) |
                 static_cast<int32_t>(!(x[i] < range_end<To, float>));
    }
    if (outside)
      for (int64_t i = 0; i < part; ++i) y[i] = saturate<To>(x[i]);
    else
      for (int64_t i = 0; i < part; ++i) y[i] = static_cast<To>(x[i]);
  }
}

template <class To, class From>
void convert_strided(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t count) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  if (src_stride == 1 && dst_stride == 1) {
    if (const auto dense = simd::copy_kernels().convert(dtype_of<From>(), dtype_of<To>())) {
      return dense(src, dst, count);
    }
    if constexpr (std::is_same_v<From, float> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      return convert_floats(from, to, count);
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
