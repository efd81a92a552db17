// Numbers of 16 bits: conversions, and arithmetic on them by way of wider numbers.
#pragma once

#include <immintrin.h>
#include <tern/tests/simgpu/functions_float.h>

namespace simgpu::functions {

struct Bfloat {
  static constexpr char kind = 'h';
  static float wide(uint16_t a) { return std::bit_cast<float>(static_cast<uint32_t>(a) << 16); }
  static uint16_t narrow(float a) {
    const auto bits = std::bit_cast<uint32_t>(a);
    return a != a ? uint16_t{0x7fff} : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static uint16_t narrow_to_zero(float a) {
    return a != a ? uint16_t{0x7fff} : static_cast<uint16_t>(std::bit_cast<uint32_t>(a) >> 16);
  }
};

struct Half {
  static constexpr char kind = 'g';
  static float wide(uint16_t a) { return _cvtsh_ss(a); }
  static uint16_t narrow(float a) {
    return a != a ? uint16_t{0x7fff} : static_cast<uint16_t>(_cvtss_sh(a, 0));
  }
  static uint16_t narrow_to_zero(float a) {
    return a != a ? uint16_t{0x7fff} : static_cast<uint16_t>(_cvtss_sh(a, _MM_FROUND_TO_ZERO));
  }
};

/// F of numbers of 16 bits, computed in 32 and rounded once: exact enough for +, - and *.
template <class Format, class F>
struct Narrow {
  template <class... T>
  uint16_t operator()(T... operands) const {
    return Format::narrow(F()(Format::wide(operands)...));
  }
};

/// The nearest float, or the neighbour with an odd last bit where it is inexact: a second rounding to a
/// narrower format then gives what one rounding would have given.
inline float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double difference = value - nearest;
  if (difference == 0 || difference != difference || std::isinf(nearest)) return nearest;
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if ((bits & 1) != 0 || nearest == 0) return nearest;
  const bool away = (difference > 0) == (nearest > 0);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

/// a * b + c: the product and nearly always the sum are exact in 64 bits.
template <class Format>
struct NarrowFused {
  uint16_t operator()(uint16_t a, uint16_t b, uint16_t c) const {
    const double product = static_cast<double>(Format::wide(a)) * Format::wide(b);
    return Format::narrow(round_to_odd(product + Format::wide(c)));
  }
};

/// The result of F, negative numbers and NaN becoming 0, for .relu.
template <class Format, class F>
struct Rectified {
  template <class... T>
  uint16_t operator()(T... operands) const {
    const uint16_t value = F()(operands...);
    return Format::wide(value) > 0 ? value : uint16_t{0};
  }
};

/// A comparison of numbers of 16 bits.
template <class Format, class F>
struct NarrowCompare {
  bool operator()(uint16_t a, uint16_t b) const { return F()(Format::wide(a), Format::wide(b)); }
};

template <class Format>
struct NarrowNegate {
  uint16_t operator()(uint16_t a) const { return a ^ 0x8000; }
};

template <class Format>
struct NarrowAbsolute {
  uint16_t operator()(uint16_t a) const { return a & 0x7fff; }
};

}  // namespace simgpu::functions
