// Numbers in the types of CUDA's libraries: `rounded` rounds once, to nearest even; whole numbers saturate.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <library_types.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simgpu {

template <class T>
long double widened(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);  // every value of the small types is a float
  }
}

template <class T>
T rounded(long double value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __double2half(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __double2bfloat16(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<long double>(std::nearbyint(value), Limits::min(), Limits::max()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<double>(value));  // float8: beyond its range, the largest value
  }
}

/// Calls `f` with a value of the C++ type; false: a type that the stand-ins do not know.
template <class F>
bool with_type(cudaDataType type, F&& f) {
  switch (type) {
    case CUDA_R_16F:
      return f(__half{}), true;
    case CUDA_R_16BF:
      return f(__nv_bfloat16{}), true;
    case CUDA_R_32F:
      return f(float{}), true;
    case CUDA_R_64F:
      return f(double{}), true;
    case CUDA_R_8I:
      return f(int8_t{}), true;
    case CUDA_R_32I:
      return f(int32_t{}), true;
    case CUDA_R_8F_E4M3:
      return f(__nv_fp8_e4m3{}), true;
    case CUDA_R_8F_E5M2:
      return f(__nv_fp8_e5m2{}), true;
    default:
      return false;
  }
}

inline size_t size_of(cudaDataType type) {
  size_t size = 0;
  with_type(type, [&](auto value) { size = sizeof value; });
  return size;
}

inline long double load(const void* data, cudaDataType type, int64_t index) {
  long double value = 0;
  with_type(type, [&](auto tag) { value = widened(static_cast<const decltype(tag)*>(data)[index]); });
  return value;
}

inline void store(void* data, cudaDataType type, int64_t index, long double value) {
  with_type(type,
            [&](auto tag) { static_cast<decltype(tag)*>(data)[index] = rounded<decltype(tag)>(value); });
}

}  // namespace simgpu
