// The scalar maths of every differentiable function of one variable, once for all devices and instruction
// sets.
//
// A function is a struct with `value(x)` and either `gradient_at_input(x, dy)` or `gradient_at_output(y,
// dy)`: which of the two it has decides whether backward keeps the input or the output. (The gradient takes
// dy, instead of giving a slope to multiply with: where relu is flat, the gradient of an infinite dy is 0,
// not inf * 0 = NaN.) Adding one touches this file and the function that users call. T is float or double,
// and an integer where `integers` says so; integers wrap around.
#pragma once

#include <tern/kernels/activation_math.h>

#include <concepts>
#include <type_traits>
#include <variant>

namespace tern {

struct Neg {
  static constexpr const char* name = "neg";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::negative(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T, T dy) const {
    return -dy;
  }
};

struct Abs {
  static constexpr const char* name = "abs";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return x < T(0) ? math::negative(x) : x == T(0) ? T(0) : x;  // -0 becomes 0
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return x > T(0) ? dy : x < T(0) ? -dy : T(0);
  }
};

// Functions in steps: without a slope anywhere, and defined for integers.
struct Flat {
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T, T) const {
    return T(0);
  }
};

struct Sign : Flat {
  static constexpr const char* name = "sign";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return static_cast<T>((x > T(0)) - (x < T(0)));
  }
};

struct Square {
  static constexpr const char* name = "square";
  static constexpr bool integers = true;
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::product(x, x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return dy * (T(2) * x);
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

struct Rsqrt {
  static constexpr const char* name = "rsqrt";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return T(1) / math::sqrt(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return T(-0.5) * dy * (y * y * y);
  }
};

struct Reciprocal {
  static constexpr const char* name = "reciprocal";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return T(1) / x;
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return -dy * (y * y);
  }
};

// x to the power of a number.
struct Power {
  double exponent;
  static constexpr const char* name = "pow";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::pow(x, static_cast<T>(exponent));
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    const T p = static_cast<T>(exponent);
    return p == T(0) ? T(0) : dy * (p * math::pow(x, p - T(1)));
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

struct Expm1 {
  static constexpr const char* name = "expm1";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::expm1(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return dy * (y + T(1));
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

struct Log1p {
  static constexpr const char* name = "log1p";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::log1p(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return dy / (T(1) + x);
  }
};

struct Sin {
  static constexpr const char* name = "sin";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::sin(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return dy * math::cos(x);
  }
};

struct Cos {
  static constexpr const char* name = "cos";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::cos(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return -dy * math::sin(x);
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

struct Erf {
  static constexpr const char* name = "erf";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return math::erf(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return dy * (T(1.1283791670955126) * math::exp(-x * x));  // 2 / sqrt(pi)
  }
};

struct Round : Flat {
  static constexpr const char* name = "round";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    if constexpr (std::is_floating_point_v<T>) return math::round(x);
    return x;
  }
};

struct Floor : Flat {
  static constexpr const char* name = "floor";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    if constexpr (std::is_floating_point_v<T>) return math::floor(x);
    return x;
  }
};

struct Ceil : Flat {
  static constexpr const char* name = "ceil";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    if constexpr (std::is_floating_point_v<T>) return math::ceil(x);
    return x;
  }
};

// Between two bounds, of which the upper wins; NaN stays NaN.
struct Clamp {
  double low, high;
  static constexpr const char* name = "clamp";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    const T lo = static_cast<T>(low), hi = static_cast<T>(high);
    const T raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return x > static_cast<T>(low) && x < static_cast<T>(high) ? dy : T(0);
  }
};

/// All of them; kernels are made from this list.
using UnaryMath = std::variant<Neg, Exp, Log, Sqrt, Tanh, Relu, Abs, Sign, Square, Rsqrt, Reciprocal, Power,
                               Sin, Cos, Log1p, Expm1, Erf, Round, Floor, Ceil, Clamp, Sigmoid, LeakyRelu,
                               Elu, Gelu, GeluTanh, Silu, Softplus>;

template <class Math>
concept GradientFromOutput = requires(Math math, float y) {
  { math.gradient_at_output(y, y) } -> std::same_as<float>;
};

template <class Math>
concept TakesIntegers = Math::integers;

}  // namespace tern
