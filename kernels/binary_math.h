// The scalar maths of every function of two variables, once for all devices and instruction sets.
//
// Adding one touches this file and the function that users call. T is float or double, and an integer where
// `integers` says so; integers wrap around. Functions to bool take every dtype.
#pragma once

#include <tern/kernels/scalar_math.h>

#include <type_traits>
#include <variant>

namespace tern {

struct Add {
  static constexpr const char* name = "add";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return math::sum(a, b);
  }
};

struct Sub {
  static constexpr const char* name = "sub";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return math::difference(a, b);
  }
};

struct Mul {
  static constexpr const char* name = "mul";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return math::product(a, b);
  }
};

struct Div {
  static constexpr const char* name = "div";
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return a / b;
  }
};

// The larger, or NaN when one of them is NaN.
struct Maximum {
  static constexpr const char* name = "maximum";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};

// The smaller, or NaN when one of them is NaN.
struct Minimum {
  static constexpr const char* name = "minimum";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};

// Integers by repeated squaring; a negative exponent of an integer gives 0, or 1 / a where a is 1 or -1.
struct Pow {
  static constexpr const char* name = "pow";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return math::pow(a, b);
    } else {
      if (b < T(0)) return a == T(1) ? T(1) : a == static_cast<T>(-1) ? (b % 2 ? a : T(1)) : T(0);
      T power = T(1);
      for (; b != T(0); b = static_cast<T>(b >> 1)) {
        if (b & 1) power = math::product(power, a);
        a = math::product(a, a);
      }
      return power;
    }
  }
};

using BinaryMath = std::variant<Add, Sub, Mul, Div, Maximum, Minimum, Pow>;

// Comparisons; with NaN all but `ne` are false.

struct Equal {
  static constexpr const char* name = "eq";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return a == b;
  }
};

struct NotEqual {
  static constexpr const char* name = "ne";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return a != b;
  }
};

struct Less {
  static constexpr const char* name = "lt";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return a < b;
  }
};

struct LessEqual {
  static constexpr const char* name = "le";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return a <= b;
  }
};

struct Greater {
  static constexpr const char* name = "gt";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return a > b;
  }
};

struct GreaterEqual {
  static constexpr const char* name = "ge";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return a >= b;
  }
};

// Logic: whatever is not zero is true, NaN too.

struct LogicalAnd {
  static constexpr const char* name = "logical_and";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return (a != T(0)) & (b != T(0));
  }
};

struct LogicalOr {
  static constexpr const char* name = "logical_or";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return (a != T(0)) | (b != T(0));
  }
};

struct LogicalXor {
  static constexpr const char* name = "logical_xor";
  template <class T>
  TERN_HOST_DEVICE bool value(T a, T b) const {
    return (a != T(0)) != (b != T(0));
  }
};

using Comparison =
    std::variant<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, LogicalAnd, LogicalOr, LogicalXor>;

}  // namespace tern
