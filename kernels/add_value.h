// a + b as sums of many are formed.
#pragma once

#include <tern/core/dtype.h>

namespace tern::kernels {

/// The type in which numbers of type T are added: their own, without a sign for integers, which wrap around.
template <class T>
using Addend =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <class T>
T add_value(T a, T b) {
  return static_cast<T>(static_cast<Addend<T>>(a) + static_cast<Addend<T>>(b));
}

/// The dtype that sums are formed in before they are rounded once: float32 for the half types.
inline DType addend_dtype(DType dtype) { return is_reduced_floating_point(dtype) ? float32 : dtype; }

/// dispatch() for what sums are formed in: float32, float64 and the integers. `operation` begins the error
/// for any other dtype.
template <class Body>
void dispatch_addends(DType dtype, const char* operation, Body&& body) {
  dispatch(dtype, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      body.template operator()<T>();
    else
      check(false, operation, ": ", dtype, " cannot be added");
  });
}

}  // namespace tern::kernels
