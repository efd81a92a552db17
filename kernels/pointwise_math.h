// The scalar maths of every pointwise operation, once for all devices and instruction sets.
//
// A differentiable function of one variable is a struct with `value(x)` and either `gradient_at_input(x, dy)`
// or `gradient_at_output(y, dy)`: which of the two it has decides whether backward keeps the input or the
// output. (The gradient takes dy, instead of giving a slope to multiply with: where relu is flat, the
// gradient of an infinite dy is 0, not inf * 0 = NaN.) Adding one touches this file and the function that
// users call. T is float or double, and an integer where `integers` says so.
#pragma once

#include <tern/kernels/scalar_math.h>

#include <concepts>
#include <variant>

namespace tern {

struct Neg {
  static constexpr const char* name = "neg";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return static_cast<T>(-x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T, T dy) const {
    return -dy;
  }
};

struct Exp {
  static constexpr const char* name = "exp";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::exp(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return dy * y;
  }
};

struct Log {
  static constexpr const char* name = "log";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::log(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return dy / x;
  }
};

struct Sqrt {
  static constexpr const char* name = "sqrt";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::sqrt(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return dy / (T(2) * y);
  }
};

struct Tanh {
  static constexpr const char* name = "tanh";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::tanh(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};

struct Relu {
  static constexpr const char* name = "relu";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return x < T(0) ? T(0) : x;  // NaN stays NaN
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return y <= T(0) ? T(0) : dy;
  }
};

/// All of them; kernels are made from this list.
using UnaryMath = std::variant<Neg, Exp, Log, Sqrt, Tanh, Relu>;

template <class Math>
concept GradientFromOutput = requires(Math math, float y) {
  { math.gradient_at_output(y, y) } -> std::same_as<float>;
};

template <class Math>
concept TakesIntegers = Math::integers;

// Functions of two variables. Integers wrap around.

struct Add {
  static constexpr const char* name = "add";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

struct Sub {
  static constexpr const char* name = "sub";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return static_cast<T>(a - b);
  }
};

struct Mul {
  static constexpr const char* name = "mul";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return static_cast<T>(a * b);
  }
};

struct Div {
  static constexpr const char* name = "div";
  template <class T>
  TERN_HOST_DEVICE T value(T a, T b) const {
    return a / b;
  }
};

using BinaryMath = std::variant<Add, Sub, Mul, Div>;

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

using Comparison = std::variant<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual>;

}  // namespace tern
