// The scalar maths of losses that compare an input x and a target t element by element, once for all devices
// and instruction sets.
//
// A loss is a struct with `value(x, t, p)` and its slopes at x and at t; p is the weight of positive targets,
// for those that know such a thing. Adding one touches this file and the function that users call. T is float
// or double.
#pragma once

#include <tern/kernels/scalar_math.h>

#include <variant>

namespace tern {

// What depends on x - t alone.
template <class Function>
struct OfDifference : Function {
  template <class T>
  TERN_HOST_DEVICE T value(T x, T t, T) const {
    return Function::at(x - t);
  }
  template <class T>
  TERN_HOST_DEVICE T input_slope(T x, T t, T) const {
    return Function::slope(x - t);
  }
  template <class T>
  TERN_HOST_DEVICE T target_slope(T x, T t, T) const {
    return -Function::slope(x - t);
  }
};

struct SquaredDistance {
  static constexpr const char* name = "mse_loss";
  template <class T>
  TERN_HOST_DEVICE T at(T d) const {
    return d * d;
  }
  template <class T>
  TERN_HOST_DEVICE T slope(T d) const {
    return T(2) * d;
  }
};

struct Distance {
  static constexpr const char* name = "l1_loss";
  template <class T>
  TERN_HOST_DEVICE T at(T d) const {
    return d < T(0) ? -d : d;
  }
  template <class T>
  TERN_HOST_DEVICE T slope(T d) const {
    return d > T(0) ? T(1) : d < T(0) ? T(-1) : d;  // NaN stays NaN
  }
};

// d^2 / (2 beta) where |d| < beta, |d| - beta / 2 beyond.
struct SmoothDistance {
  double beta;
  static constexpr const char* name = "smooth_l1_loss";
  template <class T>
  TERN_HOST_DEVICE T at(T d) const {
    const T b = static_cast<T>(beta), size = d < T(0) ? -d : d;
    return size < b ? T(0.5) * size * size / b : size - T(0.5) * b;
  }
  template <class T>
  TERN_HOST_DEVICE T slope(T d) const {
    const T b = static_cast<T>(beta);
    return d >= b ? T(1) : d <= -b ? T(-1) : d / b;
  }
};

// d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) beyond.
struct HuberDistance {
  double delta;
  static constexpr const char* name = "huber_loss";
  template <class T>
  TERN_HOST_DEVICE T at(T d) const {
    const T b = static_cast<T>(delta), size = d < T(0) ? -d : d;
    return size <= b ? T(0.5) * size * size : b * (size - T(0.5) * b);
  }
  template <class T>
  TERN_HOST_DEVICE T slope(T d) const {
    const T b = static_cast<T>(delta);
    return d >= b ? b : d <= -b ? -b : d;
  }
};

// -(t log x + (1 - t) log(1 - x)) with logarithms of at least -100.
struct BinaryEntropy {
  static constexpr const char* name = "binary_cross_entropy";
  template <class T>
  TERN_HOST_DEVICE static T bounded(T logarithm) {
    return logarithm < T(-100) ? T(-100) : logarithm;  // NaN stays NaN
  }
  template <class T>
  TERN_HOST_DEVICE T value(T x, T t, T) const {
    return (t - T(1)) * bounded(math::log1p(-x)) - t * bounded(math::log(x));
  }
  template <class T>
  TERN_HOST_DEVICE T input_slope(T x, T t, T) const {
    const T product = (T(1) - x) * x;
    return (x - t) / (product < T(1e-12) ? T(1e-12) : product);
  }
  template <class T>
  TERN_HOST_DEVICE T target_slope(T x, T, T) const {
    return bounded(math::log1p(-x)) - bounded(math::log(x));
  }
};

// The same of sigmoid(x), by softplus: p t softplus(-x) + (1 - t) softplus(x).
struct BinaryEntropyOfLogits {
  static constexpr const char* name = "binary_cross_entropy_with_logits";
  // softplus(-x) without overflow: log(1 + e^-|x|) + max(-x, 0).
  template <class T>
  TERN_HOST_DEVICE static T softplus_of_minus(T x) {
    return math::log1p(math::exp(x < T(0) ? x : -x)) + (x < T(0) ? -x : T(0));
  }
  template <class T>
  TERN_HOST_DEVICE T value(T x, T t, T p) const {
    return (T(1) - t) * x + (T(1) - t + p * t) * softplus_of_minus(x);
  }
  template <class T>
  TERN_HOST_DEVICE T input_slope(T x, T t, T p) const {
    return (p * t + T(1) - t) / (T(1) + math::exp(-x)) - p * t;
  }
  template <class T>
  TERN_HOST_DEVICE T target_slope(T x, T, T p) const {
    return (p - T(1)) * softplus_of_minus(x) - x;
  }
};

// 0 where the share of a class is 0, even if x is its logarithm -inf; NaN stays NaN.
template <class T>
TERN_HOST_DEVICE inline T shared(T share, T x, T y) {
  return share == T(0) && x == x ? T(0) : y;
}

// t (log t - x), and 0 where t = 0.
struct Divergence {
  static constexpr const char* name = "kl_div";
  template <class T>
  TERN_HOST_DEVICE T value(T x, T t, T) const {
    return shared(t, x, t * (math::log(t) - x));
  }
  template <class T>
  TERN_HOST_DEVICE T input_slope(T, T t, T) const {
    return -t;
  }
  template <class T>
  TERN_HOST_DEVICE T target_slope(T x, T t, T) const {
    return math::log(t) + T(1) - x;
  }
};

// The same with e^t for t.
struct DivergenceOfLogarithms {
  static constexpr const char* name = "kl_div";
  template <class T>
  TERN_HOST_DEVICE T value(T x, T t, T) const {
    const T e = math::exp(t);
    return shared(e, x, e * (t - x));
  }
  template <class T>
  TERN_HOST_DEVICE T input_slope(T, T t, T) const {
    return -math::exp(t);
  }
  template <class T>
  TERN_HOST_DEVICE T target_slope(T x, T t, T) const {
    const T e = math::exp(t);
    return shared(e, x, e * (t - x + T(1)));
  }
};

// -(share t + even) x, and 0 where the bracket is: cross-entropy of log-probabilities x and smoothed
// probabilities t.
struct SmoothedEntropy {
  double share, even;
  static constexpr const char* name = "cross_entropy";
  template <class T>
  TERN_HOST_DEVICE T value(T x, T t, T) const {
    const T part = static_cast<T>(share) * t + static_cast<T>(even);
    return shared(part, x, -part * x);
  }
  template <class T>
  TERN_HOST_DEVICE T input_slope(T, T t, T) const {
    return -(static_cast<T>(share) * t + static_cast<T>(even));
  }
  template <class T>
  TERN_HOST_DEVICE T target_slope(T x, T, T) const {
    return static_cast<T>(-share) * x;
  }
};

/// All of them; kernels are made from this list.
using LossMath = std::variant<OfDifference<SquaredDistance>, OfDifference<Distance>,
                              OfDifference<SmoothDistance>, OfDifference<HuberDistance>, BinaryEntropy,
                              BinaryEntropyOfLogits, Divergence, DivergenceOfLogarithms, SmoothedEntropy>;

}  // namespace tern
