#include <tern/core/dtype.h>

#include <algorithm>
#include <ostream>

namespace tern {

size_t size_of(DType dtype) {
  return dispatch(dtype, []<class T>() { return sizeof(T); });
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::boolean:
      return "bool";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

bool is_floating_point(DType dtype) { return dtype <= DType::bfloat16; }

bool is_reduced_floating_point(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
DType computing_dtype(DType dtype) { return is_reduced_floating_point(dtype) ? DType::float32 : dtype; }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_reduced_floating_point(a) && is_reduced_floating_point(b)) return DType::float32;
  const auto rank = [](DType dtype) {
    constexpr DType order[] = {DType::boolean, DType::uint8,    DType::int32,   DType::int64,
                               DType::float16, DType::bfloat16, DType::float32, DType::float64};
    return std::find(std::begin(order), std::end(order), dtype) - std::begin(order);
  };
  return rank(a) > rank(b) ? a : b;
}

void detail::raise_unknown_dtype(DType dtype) {
  raise<Error>(false, "unknown dtype ", static_cast<int>(dtype));
}

void detail::raise_not_floating(DType dtype, const char* operation) {
  raise<Error>(false, operation, ": needs a floating-point tensor, got ", dtype);
}

}  // namespace tern
