// What PTX's instructions on floating-point numbers compute, for one lane.
#pragma once

#include <tern/tests/simgpu/functions.h>

#include <cmath>
#include <initializer_list>

namespace simgpu::functions {

/// Small numbers become zero, with their sign.
inline float flushed(float a) { return std::fabs(a) < 1.17549435e-38F ? std::copysign(0.0F, a) : a; }

/// F with operands and result flushed, for .ftz.
template <class F>
struct Flushed {
  template <class... T>
  float operator()(T... operands) const {
    return flushed(F()(flushed(operands)...));
  }
};

/// The result of F between 0 and 1, for .sat; NaN becomes 0.
template <class F>
struct Saturated {
  template <class... T>
  auto operator()(T... operands) const {
    const auto value = F()(operands...);
    using R = decltype(value + 0);
    return value > R{0} ? (value < R{1} ? value : R{1}) : R{0};
  }
};

struct FusedMultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};

/// Of a number and NaN the number; -0 is smaller than 0.
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a != a ? b : b != b ? a : a < b || (a == b && std::signbit(a)) ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
};

struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a != a ? b : b != b ? a : a > b || (a == b && !std::signbit(a)) ? a : b;
    } else {
      return a > b ? a : b;
    }
  }
};

/// F of two numbers; NaN if any of them is NaN.
template <class F>
struct WithNan {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : F()(a, b);
  }
};

struct Negate {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>) {
      return Subtract()(T{0}, a);
    } else {
      return -a;
    }
  }
};

struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>) {
      return a < 0 ? Subtract()(T{0}, a) : a;
    } else {
      return std::fabs(a);
    }
  }
};

/// b with the sign of a.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};

struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};

struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};

struct ReciprocalRoot {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
  }
};

/// 2^a by a polynomial on [-1/2, 1/2], good to 2e-7: the hardware's ex2.approx is good to 2 ulp.
struct Exponential2 {
  float operator()(float a) const {
    const float limited = a > 129.0F ? 129.0F : a < -151.0F ? -151.0F : a;
    const float whole = std::floor(limited + 0.5F), rest = limited - whole;
    float value = 1.5403530e-4F;
    for (const float coefficient :
         {1.3333558e-3F, 9.6181291e-3F, 5.5504109e-2F, 2.4022651e-1F, 6.9314718e-1F, 1.0F}) {
      value = std::fma(value, rest, coefficient);
    }
    // In two steps, so that results below the normal numbers come out.
    const auto exponent = static_cast<int32_t>(whole), half = exponent >> 1, other = exponent - half;
    const float result =
        value * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((other + 127) << 23);
    return a != a ? a : result;
  }
};

struct Logarithm2 {
  float operator()(float a) const { return std::log2(a); }
};

struct Sine {
  float operator()(float a) const { return std::sin(a); }
};

struct Cosine {
  float operator()(float a) const { return std::cos(a); }
};

struct HyperbolicTangent {
  float operator()(float a) const { return std::tanh(a); }
};

enum class To { nearest, zero, down, up };

template <class T>
T to_whole(T a, To way) {
  switch (way) {
    case To::nearest:
      return std::nearbyint(a);
    case To::zero:
      return std::trunc(a);
    case To::down:
      return std::floor(a);
    default:
      return std::ceil(a);
  }
}

template <To way>
struct Round {
  template <class T>
  T operator()(T a) const {
    return to_whole(a, way);
  }
};

/// To an integer of type T, clamped to what it holds; NaN becomes 0.
template <class T, To way>
struct ToInteger {
  template <class A>
  T operator()(A a) const {
    const A whole = to_whole(a, way);
    if (whole != whole) return 0;
    if (whole <= static_cast<A>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (whole >= static_cast<A>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(whole);
  }
};

struct Convert {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

// Comparisons. The ones with U also hold when an operand is NaN.

#define SIMGPU_COMPARISON(name, expression) \
  struct name {                             \
    template <class T>                      \
    bool operator()(T a, T b) const {       \
      return expression;                    \
    }                                       \
  };
SIMGPU_COMPARISON(Equal, a == b)
SIMGPU_COMPARISON(Unequal, a<b || a> b)
SIMGPU_COMPARISON(Less, a < b)
SIMGPU_COMPARISON(LessEqual, a <= b)
SIMGPU_COMPARISON(Greater, a > b)
SIMGPU_COMPARISON(GreaterEqual, a >= b)
SIMGPU_COMPARISON(EqualU, !(a < b || a > b))
SIMGPU_COMPARISON(UnequalU, a != b)
SIMGPU_COMPARISON(LessU, !(a >= b))
SIMGPU_COMPARISON(LessEqualU, !(a > b))
SIMGPU_COMPARISON(GreaterU, !(a <= b))
SIMGPU_COMPARISON(GreaterEqualU, !(a < b))
SIMGPU_COMPARISON(BothNumbers, a == a && b == b)
SIMGPU_COMPARISON(SomeNan, a != a || b != b)
#undef SIMGPU_COMPARISON

}  // namespace simgpu::functions
