// Floating-point numbers as integers, where C++ leaves what does not fit undefined.
#pragma once

#include <concepts>
#include <limits>

namespace tern {

/// To's least number, and the power of two after its largest, which all floating-point types hold.
template <std::integral To, std::floating_point From>
inline constexpr From range_begin = static_cast<From>(std::numeric_limits<To>::min());
template <std::integral To, std::floating_point From>
inline constexpr From range_end = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;

/// `value` rounded toward zero; the nearer end of To's range beyond it, and 0 for NaN.
template <std::integral To, std::floating_point From>
constexpr To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if (value >= range_begin<To, From> && value < range_end<To, From>) return static_cast<To>(value);
  return value < 0 ? Limits::min() : value > 0 ? Limits::max() : To(0);
}

}  // namespace tern
