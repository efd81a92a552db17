// A number as an argument of an operation: `x + 1` must not turn an int64 tensor into a floating-point one.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>

namespace tern {

class Scalar {
 public:
  template <std::integral T>
  Scalar(T value)
      : integer_(static_cast<int64_t>(value)), kind_(std::same_as<T, bool> ? Kind::boolean : Kind::integer) {}
  template <std::floating_point T>
  Scalar(T value) : floating_(static_cast<double>(value)), kind_(Kind::floating) {}

  bool is_floating_point() const { return kind_ == Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  double to_double() const { return is_floating_point() ? floating_ : static_cast<double>(integer_); }
  int64_t to_int64() const { return is_floating_point() ? static_cast<int64_t>(floating_) : integer_; }
  /// The value as T; exact for integers that fit.
  template <class T>
  T to() const {
    if constexpr (std::integral<T>)
      return static_cast<T>(is_floating_point() ? static_cast<int64_t>(floating_) : integer_);
    else
      return static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(to_double()));
  }

 private:
  enum class Kind : unsigned char { boolean, integer, floating };
  double floating_ = 0;
  int64_t integer_ = 0;
  Kind kind_;
};

}  // namespace tern
