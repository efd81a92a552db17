// In what sums of many elements are formed.
#pragma once

#include <tern/core/dtype.h>

namespace tern::kernels {

/// dispatch() for what sums are formed in, a computing_dtype(): float32, float64 and the integers.
/// `operation` begins the error for any other dtype.
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
