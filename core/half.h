// The two 16-bit floating-point types, as storage: kernels convert to float32, compute, and round once.
//
// Conversions are always inlined: sources that are compiled for several instruction sets must not share a
// copy.
#pragma once

#include <bit>
#include <cstdint>

namespace tern {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits. Conversion rounds to nearest, ties to even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  [[gnu::always_inline]] explicit Half(float value);
  [[gnu::always_inline]] explicit operator float() const;
  bool operator==(const Half& other) const { return float(*this) == float(other); }
};

/// bfloat16: the upper half of a float32. Conversion rounds to nearest, ties to even; NaN stays NaN.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  [[gnu::always_inline]] explicit BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    bits = static_cast<uint16_t>(value != value ? (word >> 16) | 0x40 : rounded);
  }
  [[gnu::always_inline]] explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  bool operator==(const BFloat16& other) const { return float(*this) == float(other); }
};

// Branches become selections, so that loops over arrays of them vectorise.
inline Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  // Normal numbers, infinities and NaN: shift into place and correct the exponent bias by a multiplication.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = (magnitude << 13) | 0x7f800000;
  const uint32_t word = magnitude >= 0x7c00 ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(word | sign);
}

inline Half::Half(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16) & 0x8000;
  const uint32_t magnitude = word & 0x7fffffff;
  // Below 2^-14 the result is subnormal: adding 0.5 lets the float unit round at the right bit.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const uint32_t nan = 0x7e00, infinity = 0x7c00;
  uint32_t half = magnitude < 0x38800000 ? small : normal;
  half = magnitude >= 0x477ff000 ? infinity : half;
  half = magnitude > 0x7f800000 ? nan : half;
  bits = static_cast<uint16_t>(half | sign);
}

}  // namespace tern
