// Element types of tensors.
#pragma once

#include <tern/core/error.h>
#include <tern/core/half.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

namespace tern {

enum class DType : uint8_t { float32, float64, float16, bfloat16, int64, int32, uint8, boolean };

inline constexpr DType float32 = DType::float32, float64 = DType::float64, float16 = DType::float16,
                       bfloat16 = DType::bfloat16, int64 = DType::int64, int32 = DType::int32,
                       uint8 = DType::uint8, boolean = DType::boolean;

/// Bytes of one element.
size_t size_of(DType dtype);
/// "float32", "bool", …: PyTorch's names.
std::string_view name(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

bool is_floating_point(DType dtype);
/// float16 and bfloat16: what kernels store in 16 bits and compute in float32.
bool is_reduced_floating_point(DType dtype);
/// What values of `dtype` are computed in: float32 for float16 and bfloat16, for all others `dtype` itself.
DType computing_dtype(DType dtype);

/// The dtype in which two operands meet, by PyTorch's table for tensors of one or more dimensions: bool <
/// uint8 < int32 < int64 < float16, bfloat16 < float32 < float64; float16 with bfloat16 gives float32.
DType promote(DType a, DType b);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, Half>) return DType::float16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bfloat16;
  if constexpr (std::is_same_v<T, int64_t>) return DType::int64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::int32;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::uint8;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
}

namespace detail {
// Not templates: sources that are compiled for several instruction sets must not share code.
[[noreturn]] void raise_unknown_dtype(DType dtype);
[[noreturn]] void raise_not_floating(DType dtype, const char* operation);
}  // namespace detail

/// Calls body.template operator()<T>() with the C++ type of `dtype`.
template <class Body>
decltype(auto) dispatch(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float32:
      return body.template operator()<float>();
    case DType::float64:
      return body.template operator()<double>();
    case DType::float16:
      return body.template operator()<Half>();
    case DType::bfloat16:
      return body.template operator()<BFloat16>();
    case DType::int64:
      return body.template operator()<int64_t>();
    case DType::int32:
      return body.template operator()<int32_t>();
    case DType::uint8:
      return body.template operator()<uint8_t>();
    case DType::boolean:
      return body.template operator()<bool>();
  }
  detail::raise_unknown_dtype(dtype);
}

/// Like dispatch(), for the floating-point types only; `operation` begins the error for any other.
template <class Body>
decltype(auto) dispatch_floating(DType dtype, const char* operation, Body&& body) {
  switch (dtype) {
    case DType::float32:
      return body.template operator()<float>();
    case DType::float64:
      return body.template operator()<double>();
    case DType::float16:
      return body.template operator()<Half>();
    case DType::bfloat16:
      return body.template operator()<BFloat16>();
    default:
      detail::raise<Error>(false, operation, ": needs a floating-point tensor, got ", dtype);
  }
}

/// Like dispatch(), for a floating-point computing_dtype(): float64, or else float32.
template <class Body>
decltype(auto) dispatch_computing(DType dtype, Body&& body) {
  return dtype == DType::float64 ? body.template operator()<double>() : body.template operator()<float>();
}

}  // namespace tern
