// Random numbers: Philox 4x32-10, a function from (seed, subsequence, offset) to four 32-bit numbers.
//
// It is the generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011),
// and gives the numbers of its reference implementation, Random123. There is no state to hand from thread to
// thread: number i of an operation that was given (seed, offset) is Philox::block(seed, 0, offset + i /
// 4)[i % 4], on every device and with any number of threads. Not for cryptography. The functions are always
// inlined: sources that are compiled for several instruction sets must not share a copy.
#pragma once

#include <tern/core/device.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <mutex>

namespace tern {

using RandomBlock = std::array<uint32_t, 4>;

struct Philox {
  /// The key is the seed, the counter (offset, subsequence), low words first.
  [[gnu::always_inline]] static constexpr RandomBlock block(uint64_t seed, uint64_t subsequence,
                                                            uint64_t offset) {
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    uint32_t c0 = static_cast<uint32_t>(offset), c1 = static_cast<uint32_t>(offset >> 32);
    uint32_t c2 = static_cast<uint32_t>(subsequence), c3 = static_cast<uint32_t>(subsequence >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0, product1 = uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ key0;
      c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ key1;
      c1 = static_cast<uint32_t>(product1);
      c3 = static_cast<uint32_t>(product0);
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return {c0, c1, c2, c3};
  }
};

/// A float in [0, 1), a multiple of 2^-24.
[[gnu::always_inline]] inline constexpr float uniform_float(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

/// A double in [0, 1), a multiple of 2^-53.
[[gnu::always_inline]] inline constexpr double uniform_double(uint32_t low, uint32_t high) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

/// Four normally distributed floats (mean 0, variance 1): number i of an operation is element i % 4.
[[gnu::always_inline]] inline std::array<float, 4> normal_floats(const RandomBlock& block);

/// Two normally distributed doubles (mean 0, variance 1): number i of an operation comes from the block at
/// offset + i / 2, element i % 2.
[[gnu::always_inline]] inline std::array<double, 2> normal_doubles(const RandomBlock& block);

/// A sequence of numbers of one owner (a sampler, a worker, one sample's augmentation); not for use by
/// several threads at once. Sequences of different (seed, subsequence) are independent. Subsequence 0 is what
/// `Generator` hands out.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t seed, uint64_t subsequence) : seed_(seed), subsequence_(subsequence) {}

  /// 32 random bits.
  uint32_t next() {
    if (used_ == 4) block_ = Philox::block(seed_, subsequence_, offset_++), used_ = 0;
    return block_[used_++];
  }
  /// From [0, 1), a multiple of 2^-53.
  double uniform() {
    const uint32_t low = next();
    return uniform_double(low, next());
  }
  /// From 0, …, bound - 1, each equally likely. Throws Error for bound 0.
  uint64_t below(uint64_t bound);
  /// Mean 0, variance 1.
  double normal();

 private:
  uint64_t seed_, subsequence_, offset_ = 0;
  RandomBlock block_{};
  uint32_t used_ = 4;
};

/// Where a run of random numbers starts.
struct RandomState {
  uint64_t seed = 0;
  uint64_t offset = 0;  ///< in blocks of four numbers
  bool operator==(const RandomState&) const = default;
};

/// Hands out the random numbers of one device's operations. Any thread, but the order in which threads ask
/// decides who gets which.
class Generator {
 public:
  Generator() = default;
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Starts anew, from offset 0.
  void manual_seed(uint64_t seed) { set_state({seed, 0}); }
  /// `count` numbers of 32 bits that nobody else gets (a double takes two): whole blocks from the returned
  /// offset on.
  RandomState reserve(int64_t count);
  /// What the next reserve() returns: kept in checkpoints, put back by set_state().
  RandomState state() const;
  void set_state(RandomState state);

 private:
  mutable std::mutex mutex_;
  RandomState state_;
};

/// The generator of `device`, which operations use. Seeded with 0 at the start. Throws Error when there is no
/// such device.
Generator& default_generator(Device device = {});

/// Seeds the generators of all devices with the same `seed`.
void manual_seed(uint64_t seed);

namespace detail {

// A product that no compiler fuses with the addition around it, so that CPU code for every instruction set
// and CUDA code round in the same places.
[[gnu::always_inline]] inline constexpr double product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#elif defined(__clang__)
#pragma clang fp contract(off)
  return a * b;
#else
  return __builtin_assoc_barrier(a * b);
#endif
}

// c[0] + c[1] x + c[2] x^2 + …
template <size_t N>
[[gnu::always_inline]] inline constexpr double polynomial(double x, const double (&c)[N]) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = product(sum, x) + c[i];
  return sum;
}

// The logarithm of u > 0, normal: with u = 2^e m, m in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1), it is
// e ln 2 + 2 (s + s^3 / 3 + s^5 / 5 + …).
[[gnu::always_inline]] inline constexpr double log_positive(double u) {
  constexpr double c[] = {1, 1. / 3, 1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19};
  constexpr uint64_t root = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  const uint64_t bits = std::bit_cast<uint64_t>(u);
  const uint64_t shifted = bits - root + (uint64_t{1023} << 52);
  const auto exponent = static_cast<double>(static_cast<int32_t>(shifted >> 52) - 1023);
  const double m = std::bit_cast<double>((shifted & 0xfffffffffffff) + root);
  const double s = (m - 1) / (m + 1);
  return product(exponent, 0.693147180559945309417) + product(2 * s, polynomial(product(s, s), c));
}

struct SinCos {
  double sin, cos;
};

// Sine and cosine of a fraction of a full turn, 0 <= turn < 1: the Taylor series within an eighth of a turn.
[[gnu::always_inline]] inline constexpr SinCos sin_cos_of_turn(double turn) {
  constexpr double s[] = {1,           -1. / 6,        1. / 120,        -1. / 5040,
                          1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000};
  constexpr double c[] = {1,          -1. / 2,       1. / 24,        -1. / 720,
                          1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200};
  const auto quarter = static_cast<int32_t>(product(turn, 4) + 0.5);
  const double x = product(product(turn, 4) - static_cast<double>(quarter), 1.57079632679489661923);
  const double x2 = product(x, x);
  const double sine = product(x, polynomial(x2, s)), cosine = polynomial(x2, c);
  const double swapped_sin = quarter & 1 ? cosine : sine, swapped_cos = quarter & 1 ? sine : cosine;
  return {quarter & 2 ? -swapped_sin : swapped_sin, (quarter + 1) & 2 ? -swapped_cos : swapped_cos};
}

// Box and Muller: 0 < u <= 1 and 0 <= turn < 1, both uniform, give two independent normal numbers.
[[gnu::always_inline]] inline std::array<double, 2> normal_pair(double u, double turn) {
  const double radius = std::sqrt(product(-2, log_positive(u)));
  const SinCos direction = sin_cos_of_turn(turn);
  return {product(radius, direction.cos), product(radius, direction.sin)};
}

}  // namespace detail

inline std::array<double, 2> normal_doubles(const RandomBlock& block) {
  const double u = 1 - uniform_double(block[0], block[1]);
  return detail::normal_pair(u, uniform_double(block[2], block[3]));
}

inline std::array<float, 4> normal_floats(const RandomBlock& block) {
  const auto first = detail::normal_pair((block[0] + 1.0) * 0x1p-32, block[1] * 0x1p-32);
  const auto second = detail::normal_pair((block[2] + 1.0) * 0x1p-32, block[3] * 0x1p-32);
  return {static_cast<float>(first[0]), static_cast<float>(first[1]), static_cast<float>(second[0]),
          static_cast<float>(second[1])};
}

}  // namespace tern
