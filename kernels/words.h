// Elements as unsigned numbers of their size: for what only moves them, which need not be compiled for each
// dtype.
#pragma once

#include <tern/core/dtype.h>

#include <cstdint>

namespace tern::kernels {

/// body.operator()<Word>() with the unsigned type that is as large as an element of `dtype`.
template <class Body>
void dispatch_words(DType dtype, Body&& body) {
  switch (size_of(dtype)) {
    case 1:
      return body.template operator()<uint8_t>();
    case 2:
      return body.template operator()<uint16_t>();
    case 4:
      return body.template operator()<uint32_t>();
    default:
      return body.template operator()<uint64_t>();
  }
}

}  // namespace tern::kernels
