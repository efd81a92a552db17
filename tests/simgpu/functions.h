// What PTX's instructions on integers and bits compute, for one lane.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simgpu::functions {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Twice as wide, with the same signedness.
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(
          static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b)));
    } else {
      return a + b;
    }
  }
};

struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(
          static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b)));
    } else {
      return a - b;
    }
  }
};

struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

struct MultiplyWide {
  template <class T>
  Wide<T> operator()(T a, T b) const {
    return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
  }
};

struct MultiplyHigh {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(MultiplyWide()(a, b) >> (8 * sizeof(T)));
  }
};

struct MultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(Multiply()(a, b), c);
  }
};

struct MultiplyAddHigh {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(MultiplyHigh()(a, b), c);
  }
};

struct MultiplyAddWide {
  template <class T>
  Wide<T> operator()(T a, T b, Wide<T> c) const {
    return Add()(MultiplyWide()(a, b), c);
  }
};

/// The sum of signed 32-bit numbers, clamped to what 32 bits hold.
struct AddClamped {
  int32_t operator()(int32_t a, int32_t b) const { return clamp(int64_t{a} + b); }
  static int32_t clamp(int64_t value) {
    constexpr int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(value < low ? low : value > high ? high : value);
  }
};

struct SubtractClamped {
  int32_t operator()(int32_t a, int32_t b) const { return AddClamped::clamp(int64_t{a} - b); }
};

/// Division by zero gives all ones, as the hardware's does.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(-1);
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract()(T{0}, a);
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};

struct LogicalNot {
  template <class T>
  T operator()(T a) const {
    return a == 0 ? 1 : 0;
  }
};

struct Move {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

struct SumOfDifferences {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(c, a < b ? Subtract()(b, a) : Subtract()(a, b));
  }
};

struct ShiftLeft {
  template <class T>
  T operator()(T a, uint32_t by) const {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<Unsigned<T>>(a) << by);
  }
};

struct ShiftRight {
  template <class T>
  T operator()(T a, uint32_t by) const {
    return by >= 8 * sizeof(T) ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> by);
  }
};

struct LeadingZeros {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};

struct CountBits {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::popcount(a));
  }
};

/// The place of the highest bit that differs from the sign; `shift`: how far it is from the top.
template <bool shift>
struct FindBit {
  template <class T>
  uint32_t operator()(T a) const {
    const auto bits = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
    if (bits == 0) return ~uint32_t{0};
    const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
    return shift ? zeros : static_cast<uint32_t>(8 * sizeof(T)) - 1 - zeros;
  }
};

struct ReverseBits {
  uint32_t operator()(uint32_t a) const {
    a = (a >> 1 & 0x55555555U) | (a & 0x55555555U) << 1;
    a = (a >> 2 & 0x33333333U) | (a & 0x33333333U) << 2;
    a = (a >> 4 & 0x0f0f0f0fU) | (a & 0x0f0f0f0fU) << 4;
    return __builtin_bswap32(a);
  }
  uint64_t operator()(uint64_t a) const {
    const uint64_t high = (*this)(static_cast<uint32_t>(a));
    return high << 32 | (*this)(static_cast<uint32_t>(a >> 32));
  }
};

/// A mask of `width` bits from `position` on.
struct BitMask {
  uint32_t operator()(uint32_t position, uint32_t width) const {
    if (position >= 32) return 0;
    return static_cast<uint32_t>(((uint64_t{1} << (width < 32 ? width : 32)) - 1) << position);
  }
};

struct ExtractBits {
  template <class T>
  T operator()(T a, uint32_t position, uint32_t width) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 255;
    width &= 255;
    if (width == 0) return 0;
    const uint32_t top = position + width - 1 < bits - 1 ? position + width - 1 : bits - 1;
    const bool negative = std::is_signed_v<T> && (static_cast<Unsigned<T>>(a) >> top & 1) != 0;
    const Unsigned<T> sign = negative ? static_cast<Unsigned<T>>(-1) : Unsigned<T>{0};
    if (position >= bits) return static_cast<T>(sign);
    const uint32_t length = top - position + 1;
    const Unsigned<T> mask = length >= bits ? static_cast<Unsigned<T>>(-1) : (Unsigned<T>{1} << length) - 1;
    return static_cast<T>((static_cast<Unsigned<T>>(a) >> position & mask) | (sign & ~mask));
  }
};

struct InsertBits {
  template <class T>
  T operator()(T a, T b, uint32_t position, uint32_t width) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 255;
    width &= 255;
    if (position >= bits || width == 0) return b;
    const T mask = static_cast<T>((width >= bits ? static_cast<T>(-1) : (T{1} << width) - 1) << position);
    return static_cast<T>((b & ~mask) | ((a << position) & mask));
  }
};

/// Shifts of the 64 bits b:a; `clamp` limits the amount to 32, otherwise it wraps.
template <bool left, bool clamp>
struct FunnelShift {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t by) const {
    by = clamp ? (by < 32 ? by : 32) : by & 31;
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    return static_cast<uint32_t>(left ? both << by >> 32 : both >> by);
  }
};

struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selector) const {
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (uint32_t byte = 0; byte < 4; ++byte) {
      const uint32_t select = selector >> 4 * byte & 15;
      auto value = static_cast<uint8_t>(both >> 8 * (select & 7));
      if ((select & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
      result |= static_cast<uint32_t>(value) << 8 * byte;
    }
    return result;
  }
};

/// Any function of three bits: bit (a, b, c) of the table.
struct Lookup3 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c, uint32_t table) const {
    uint32_t result = 0;
    for (uint32_t entry = 0; entry < 8; ++entry) {
      const uint32_t match =
          ((entry & 4) != 0 ? a : ~a) & ((entry & 2) != 0 ? b : ~b) & ((entry & 1) != 0 ? c : ~c);
      result |= (table >> entry & 1) != 0 ? match : 0;
    }
    return result;
  }
};

/// c plus the products of the four bytes of a and b.
template <class A, class B>
struct DotBytes {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (uint32_t byte = 0; byte < 4; ++byte) {
      const auto x = static_cast<A>(a >> 8 * byte);
      const auto y = static_cast<B>(b >> 8 * byte);
      c += static_cast<uint32_t>(static_cast<int32_t>(x) * static_cast<int32_t>(y));
    }
    return c;
  }
};

/// c plus two products of 16 with 8 bits; `high` takes the upper bytes of b.
template <class A, class B, bool high>
struct DotHalves {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (uint32_t half = 0; half < 2; ++half) {
      const auto x = static_cast<A>(a >> 16 * half);
      const auto y = static_cast<B>(b >> (8 * half + (high ? 16 : 0)));
      c += static_cast<uint32_t>(static_cast<int32_t>(x) * static_cast<int32_t>(y));
    }
    return c;
  }
};

}  // namespace simgpu::functions
