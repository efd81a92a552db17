// The scalar maths of the activation functions (unary_math.h says what such a struct is).
#pragma once

#include <tern/kernels/scalar_math.h>

namespace tern {

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

struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return T(1) / (T(1) + math::exp(-x));
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_output(T y, T dy) const {
    return dy * ((T(1) - y) * y);
  }
};

struct LeakyRelu {
  double negative_slope;
  static constexpr const char* name = "leaky_relu";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return x > T(0) ? x : x * static_cast<T>(negative_slope);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return x > T(0) ? dy : dy * static_cast<T>(negative_slope);
  }
};

struct Elu {
  double alpha;
  static constexpr const char* name = "elu";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return x > T(0) ? x : static_cast<T>(alpha) * math::expm1(x);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    return x <= T(0) ? dy * (static_cast<T>(alpha) * math::exp(x)) : dy;
  }
};

// x Phi(x), Phi the distribution function of the normal distribution (Hendrycks & Gimpel, arXiv:1606.08415).
struct Gelu {
  static constexpr const char* name = "gelu";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return T(0.5) * x * (T(1) + math::erf(x * T(0.7071067811865476)));
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    const T cdf = T(0.5) * (T(1) + math::erf(x * T(0.7071067811865476)));
    const T pdf = T(0.3989422804014327) * math::exp(T(-0.5) * x * x);
    return dy * (cdf + x * pdf);
  }
};

// gelu's approximation with tanh, from the same paper.
struct GeluTanh {
  static constexpr const char* name = "gelu";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return T(0.5) * x * (T(1) + math::tanh(inner(x)));
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    const T t = math::tanh(inner(x));
    const T slope = T(0.7978845608028654) * (T(1) + T(3 * 0.044715) * x * x);
    return dy * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope);
  }
  template <class T>
  TERN_HOST_DEVICE static T inner(T x) {
    return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);  // sqrt(2 / pi)
  }
};

struct Silu {
  static constexpr const char* name = "silu";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    return x / (T(1) + math::exp(-x));
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    const T s = T(1) / (T(1) + math::exp(-x));
    return dy * (s * (T(1) + x * (T(1) - s)));
  }
};

// log(1 + exp(beta x)) / beta; x itself where beta x > threshold.
struct Softplus {
  double beta, threshold;
  static constexpr const char* name = "softplus";
  template <class T>
  TERN_HOST_DEVICE T value(T x) const {
    const T scaled = x * static_cast<T>(beta);
    return scaled > static_cast<T>(threshold) ? x : math::log1p(math::exp(scaled)) / static_cast<T>(beta);
  }
  template <class T>
  TERN_HOST_DEVICE T gradient_at_input(T x, T dy) const {
    const T scaled = x * static_cast<T>(beta);
    return scaled > static_cast<T>(threshold) ? dy : dy / (T(1) + math::exp(-scaled));
  }
};

}  // namespace tern
