#include <tern/tests/simgpu/nccl/reduce.h>
#include <tern/tests/simgpu/numbers.h>

#include <algorithm>

namespace simgpu::nccl {
namespace {

template <class F>
bool with_nccl_type(ncclDataType_t type, F&& f) {
  switch (type) {
    case ncclInt8:
      return f(int8_t{}), true;
    case ncclUint8:
      return f(uint8_t{}), true;
    case ncclInt32:
      return f(int32_t{}), true;
    case ncclUint32:
      return f(uint32_t{}), true;
    case ncclInt64:
      return f(int64_t{}), true;
    case ncclUint64:
      return f(uint64_t{}), true;
    case ncclFloat16:
      return f(__half{}), true;
    case ncclFloat32:
      return f(float{}), true;
    case ncclFloat64:
      return f(double{}), true;
    case ncclBfloat16:
      return f(__nv_bfloat16{}), true;
    case ncclFloat8e4m3:
      return f(__nv_fp8_e4m3{}), true;
    case ncclFloat8e5m2:
      return f(__nv_fp8_e5m2{}), true;
    default:
      return false;
  }
}

/// Integers wrap around as unsigned ones do; long double holds 64 bits of them.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>,
                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, long double>;

template <class T>
Wide<T> widen(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    return widened(value);
  }
}

template <class T>
T narrow(Wide<T> value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else {
    return rounded<T>(value);
  }
}

template <class W>
W combine(W a, W b, Reduction reduction) {
  switch (reduction) {
    case Reduction::product:
      if constexpr (std::is_integral_v<W>)
        return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      return a * b;
    case Reduction::largest:
      return a != a || a > b ? a : b;  // NaN stays
    case Reduction::smallest:
      return a != a || a < b ? a : b;
    default:
      if constexpr (std::is_integral_v<W>)
        return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      return a + b;
  }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
  size_t size = 0;
  with_nccl_type(type, [&](auto tag) { size = sizeof tag; });
  return size;
}

double number_of(const void* value, ncclDataType_t type) {
  double number = 0;
  with_nccl_type(type, [&](auto tag) {
    number = static_cast<double>(widen(*static_cast<const decltype(tag)*>(value)));
  });
  return number;
}

void reduce(void* to, const std::vector<const void*>& from, const std::vector<double>& scalars, size_t count,
            ncclDataType_t type, Reduction reduction) {
  with_nccl_type(type, [&](auto tag) {
    using T = decltype(tag);
    using W = Wide<T>;
    const auto input = [&](size_t rank, size_t i) {
      const W value = widen(static_cast<const T*>(from[rank])[i]);
      return scalars.empty() ? value : static_cast<W>(scalars[rank]) * value;
    };
    for (size_t i = 0; i < count; ++i) {
      W value = input(0, i);
      for (size_t rank = 1; rank < from.size(); ++rank) value = combine(value, input(rank, i), reduction);
      if (reduction == Reduction::average) value /= static_cast<W>(from.size());
      static_cast<T*>(to)[i] = narrow<T>(value);
    }
  });
}

}  // namespace simgpu::nccl
