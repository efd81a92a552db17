// Conversions are compared with a search in the sorted list of all values of the type.
#include <tern/core/half.h>
#include <tern/core/random.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace tern;

namespace {

// The value of positive 16-bit patterns: `mantissa` bits of it, exponents biased by `bias`.
double value_of(uint32_t bits, int mantissa, int bias) {
  const int exponent = static_cast<int>(bits >> mantissa);
  const double fraction = std::ldexp(static_cast<double>(bits & ((1u << mantissa) - 1)), -mantissa);
  return exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias);
}

// What is common to both types: `infinity` is the bits of infinity.
struct Format {
  int mantissa, bias;
  uint32_t infinity;
  std::vector<double> values;  // of the patterns 0 … infinity, the last as if the exponents went on

  Format(int mantissa_bits, int exponent_bias, uint32_t infinity_bits)
      : mantissa(mantissa_bits), bias(exponent_bias), infinity(infinity_bits) {
    for (uint32_t bits = 0; bits <= infinity; ++bits) values.push_back(value_of(bits, mantissa, bias));
  }

  // The nearest pattern, of two equally near ones the even.
  uint32_t rounded(float x) const {
    const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::abs(static_cast<double>(x));
    if (magnitude >= values.back()) return sign | infinity;
    const auto above =
        static_cast<uint32_t>(std::upper_bound(values.begin(), values.end(), magnitude) - values.begin());
    const double down = magnitude - values[above - 1], up = values[above] - magnitude;
    return sign | (down < up || (down == up && above % 2) ? above - 1 : above);
  }
};

template <class T>
void check_all_patterns(const Format& format) {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    T x;
    x.bits = static_cast<uint16_t>(bits);
    const auto value = static_cast<float>(x);
    const uint32_t magnitude = bits & 0x7fff;
    wrong += std::signbit(value) != (bits >= 0x8000);
    if (magnitude > format.infinity) {
      wrong += !std::isnan(value) || !std::isnan(static_cast<float>(T(value)));
      continue;
    }
    const double expected =
        magnitude == format.infinity ? std::numeric_limits<double>::infinity() : format.values[magnitude];
    wrong += std::abs(static_cast<double>(value)) != expected;
    wrong += T(value).bits != bits;
  }
  CHECK(wrong == 0);
}

template <class T>
int wrongly_rounded(const Format& format, float x) {
  return (T(x).bits != format.rounded(x)) + (T(-x).bits != format.rounded(-x));
}

template <class T>
void check_rounding(const Format& format) {
  int wrong = 0;
  for (uint32_t bits = 0; bits < format.infinity; ++bits) {
    const auto middle = static_cast<float>((format.values[bits] + format.values[bits + 1]) / 2);
    const float infinity = std::numeric_limits<float>::infinity();
    wrong += wrongly_rounded<T>(format, middle);
    wrong += wrongly_rounded<T>(format, std::nextafter(middle, 0.f));
    wrong += wrongly_rounded<T>(format, std::nextafter(middle, infinity));
  }
  PhiloxStream random(1, 1);
  for (int i = 0; i < 300000; ++i) {
    const auto x = std::bit_cast<float>(random.next());
    if (!std::isnan(x)) wrong += wrongly_rounded<T>(format, x);
    // Around the normal range of binary16 and its subnormals.
    const auto scaled =
        static_cast<float>(std::ldexp(1 + random.uniform(), static_cast<int>(random.below(44)) - 27));
    wrong += wrongly_rounded<T>(format, scaled);
  }
  CHECK(wrong == 0);
}

const Format& half_format() {
  static const Format format(10, 15, 0x7c00);
  return format;
}

const Format& bfloat16_format() {
  static const Format format(7, 127, 0x7f80);
  return format;
}

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

TEST_CASE("all 65536 patterns of binary16 convert to their value and back") {
  check_all_patterns<Half>(half_format());
}

TEST_CASE("all 65536 patterns of bfloat16 convert to their value and back") {
  check_all_patterns<BFloat16>(bfloat16_format());
}

TEST_CASE("floats round to the nearest binary16, ties to even") { check_rounding<Half>(half_format()); }

TEST_CASE("floats round to the nearest bfloat16, ties to even") {
  check_rounding<BFloat16>(bfloat16_format());
}

TEST_CASE("the edges of binary16 round as IEEE 754 wants") {
  CHECK(Half(65504.f).bits == 0x7bff);
  CHECK(Half(65519.996f).bits == 0x7bff);
  CHECK(Half(65520.f).bits == 0x7c00);
  CHECK(Half(-3e38f).bits == 0xfc00);
  CHECK(Half(0x1p-24f).bits == 1);
  CHECK(Half(0x1p-25f).bits == 0);
  CHECK(Half(0x1.000002p-25f).bits == 1);
  CHECK(Half(-0x1p-149f).bits == 0x8000);
  CHECK(Half(0x1.ffcp-15f).bits == 0x0400);
}

TEST_CASE("NaN stays NaN whatever its payload") {
  for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu, 0x7f80ffffu}) {
    CHECK(std::isnan(static_cast<float>(Half(from_bits(bits)))));
    CHECK(std::isnan(static_cast<float>(BFloat16(from_bits(bits)))));
    CHECK_EQ(BFloat16(from_bits(bits)).bits >> 15, bits >> 31);
    CHECK_EQ(Half(from_bits(bits)).bits >> 15, bits >> 31);
  }
  CHECK(!(Half(NAN) == Half(NAN)));
  CHECK(Half(0.f) == Half(-0.f));
}
