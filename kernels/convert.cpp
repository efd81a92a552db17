#include <tern/kernels/convert.h>

#include <tern/core/saturate.h>
#include <tern/kernels/simd/copy.h>

#include <algorithm>
#include <bit>

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

// Whether all lie inside To's range, its least number left out. By their bits: the numbers from 0 to below a
// power of two are those whose bits are below its own, so that a difference has the sign bit. Every
// processor has these operations on vectors.
template <class To, class From>
bool all_fit(const From* x, int64_t count) {
  using Bits = std::conditional_t<sizeof(From) == 8, uint64_t, uint32_t>;
  constexpr Bits sign = ~(~Bits{0} >> 1), end = std::bit_cast<Bits>(range_end<To, From>);
  constexpr Bits magnitude = std::is_signed_v<To> ? ~sign : ~Bits{0};
  Bits all = sign;
  for (int64_t i = 0; i < count; ++i) {
    const Bits bits = std::bit_cast<Bits>(x[i]) & magnitude;
    all &= (bits - end) & ~bits;
  }
  return all != 0;
}

// Floating-point numbers to integers. Where all of a block fit, the loop needs no selection and vectorises.
template <class To, class From>
void convert_blocks(const From* from, To* to, int64_t count) {
  constexpr int64_t block = 1024;
  for (int64_t begin = 0; begin < count; begin += block) {
    const From* x = from + begin;
    To* y = to + begin;
    const int64_t part = std::min(block, count - begin);
    if (all_fit<To>(x, part))
      for (int64_t i = 0; i < part; ++i) y[i] = static_cast<To>(x[i]);
    else
      for (int64_t i = 0; i < part; ++i) y[i] = saturate<To>(x[i]);
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
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      return convert_blocks(from, to, count);
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
