#include <tern/core/scalar.h>

#include <cmath>
#include <ostream>

namespace tern {

bool Scalar::fits(DType dtype) const {
  return dispatch(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double>) {
      return true;
    } else if constexpr (!std::is_integral_v<T>) {
      const double value = to_double();
      return !std::isfinite(value) || std::isfinite(static_cast<double>(static_cast<float>(to<T>())));
    } else if (is_floating_point()) {
      const double whole = std::trunc(floating_);
      return whole >= range_begin<T, double> && whole < range_end<T, double>;
    } else {
      return static_cast<int64_t>(static_cast<T>(integer_)) == integer_;
    }
  });
}

void Scalar::check_fits(DType dtype, const char* operation) const {
  check(fits(dtype), operation, ": ", *this, " does not fit ", dtype);
}

std::ostream& operator<<(std::ostream& out, const Scalar& scalar) {
  return scalar.is_floating_point() ? out << scalar.to_double() : out << scalar.to_int64();
}

}  // namespace tern
