// A number as an argument of an operation: `x + 1` must not turn an int64 tensor into a floating-point one.
#pragma once

#include <tern/core/dtype.h>
#include <tern/core/saturate.h>

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <utility>

namespace tern {

class Scalar {
 public:
  /// Throws Error for a number above 2^63 - 1.
  template <std::integral T>
  Scalar(T value)
      : integer_(static_cast<int64_t>(value)), kind_(std::same_as<T, bool> ? Kind::boolean : Kind::integer) {
    if constexpr (sizeof(T) == 8 && T(-1) > T(0)) check(integer_ >= 0, value, " is above 2^63 - 1");
  }
  template <std::floating_point T>
  Scalar(T value) : floating_(static_cast<double>(value)), kind_(Kind::floating) {}

  bool is_floating_point() const { return kind_ == Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  double to_double() const { return is_floating_point() ? floating_ : static_cast<double>(integer_); }
  int64_t to_int64() const { return is_floating_point() ? saturate<int64_t>(floating_) : integer_; }
  /// The value as T; exact for integers that fit. Others wrap around; floating-point numbers are rounded
  /// toward zero, and where they do not fit end at T's nearest, NaN at 0. As bool, whether it is not zero.
  template <class T>
  T to() const {
    if constexpr (std::same_as<T, bool>)
      return is_floating_point() ? floating_ != 0 : integer_ != 0;
    else if constexpr (std::integral<T>)
      return is_floating_point() ? saturate<T>(floating_) : static_cast<T>(integer_);
    else
      return static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(to_double()));
  }

  /// Whether `dtype` holds the number: an integer type its whole part, a floating-point type something finite
  /// unless the number is infinite or NaN itself; bool holds every number.
  bool fits(DType dtype) const;
  /// Throws Error naming `operation` unless fits(dtype).
  void check_fits(DType dtype, const char* operation) const;

 private:
  enum class Kind : unsigned char { boolean, integer, floating };
  double floating_ = 0;
  int64_t integer_ = 0;
  Kind kind_;
};

std::ostream& operator<<(std::ostream& out, const Scalar& scalar);

}  // namespace tern
