// Arithmetic and conversions of kernels against the host's.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <tern/tests/simgpu/programs/apply.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

namespace {

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {0,
            -T{0},
            1,
            -1,
            T(0.5),
            T(-1.5),
            T(2.5),
            T(3.7),
            L::infinity(),
            -L::infinity(),
            L::quiet_NaN(),
            L::max(),
            L::lowest(),
            L::min(),
            L::denorm_min(),
            T(1e-3),
            T(123456.7),
            T(-77.25)};
  } else {
    return {
        0, 1, T(-1), 2, 3, 7, T(-8), 31, 32, 33, 100, L::max(), L::min(), T(L::max() / 2), T(L::max() - 5)};
  }
}

/// All pairs of special values with a third, and random bits.
template <class T>
std::vector<T> inputs(int which) {
  const std::vector<T> special = special_values<T>();
  std::vector<T> result;
  for (size_t i = 0; i < special.size(); ++i) {
    for (size_t j = 0; j < special.size(); ++j) {
      const size_t index[] = {i, j, (i * 7 + j * 3) % special.size()};
      result.push_back(special[index[which]]);
    }
  }
  std::mt19937_64 random(17 + which);
  for (int count = 0; count < 3000; ++count) {
    const uint64_t bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    result.push_back(value);
  }
  return result;
}

template <class R>
bool same(R a, R b) {
  if constexpr (std::is_floating_point_v<R>) {
    if (a != a || b != b) return a != a && b != b;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// The function gives the same bits on host and device.
template <class R, class A, class F>
void check(F function) {
  const std::vector<A> a = inputs<A>(0), b = inputs<A>(1), c = inputs<A>(2);
  const std::vector<R> found = on_device<R>(a, b, c, function);
  int wrong = 0;
  for (size_t index = 0; index < a.size(); ++index) {
    const R wanted = function(a[index], b[index], c[index]);
    if (same(found[index], wanted) || ++wrong > 3) continue;
    FAIL_CHECK("for " << +a[index] << ", " << +b[index] << ", " << +c[index] << ": " << +found[index]
                      << " instead of " << +wanted);
  }
  CHECK(wrong == 0);
}

#define FUNCTION(T, expression) [] __host__ __device__(T a, T b, T c) { return expression; }

template <class T>
void check_integers() {
  using U = std::make_unsigned_t<T>;
  check<T, T>(FUNCTION(T, (T)((U)((uint64_t)a * (uint64_t)b + (uint64_t)c))));
  check<T, T>(FUNCTION(T, (T)((U)a - (U)b)));
  check<T, T>(FUNCTION(T, (T)((a & b) | (~b & c))));
  check<T, T>(FUNCTION(T, (T)(a ^ b ^ c)));
  check<T, T>(FUNCTION(T, (T)((U)a << ((U)b % (8 * sizeof(T))))));
  check<T, T>(FUNCTION(T, (T)(a >> ((U)b % (8 * sizeof(T))))));
  check<T, T>(FUNCTION(T, (T)(a < b ? a : b)));
  check<T, T>(FUNCTION(T, (T)(a > c ? a : c)));
  check<int, T>(FUNCTION(T, (a == b) || (a <= c && b != c)));
  check<T, T>(FUNCTION(T, b == 0 || (std::is_signed<T>::value && b == (T)-1) ? a : (T)(a / b)));
  check<T, T>(FUNCTION(T, b == 0 || (std::is_signed<T>::value && b == (T)-1) ? a : (T)(a % b)));
}

template <class T>
void check_floats() {
  check<T, T>(FUNCTION(T, a + b));
  check<T, T>(FUNCTION(T, a - b));
  check<T, T>(FUNCTION(T, a * b));
  check<T, T>(FUNCTION(T, a / b));
  check<T, T>(FUNCTION(T, std::fma(a, b, c)));
  check<T, T>(FUNCTION(T, std::sqrt(a)));
  check<T, T>(FUNCTION(T, std::fabs(a) - (-b)));
  check<T, T>(FUNCTION(T, std::floor(a) + std::ceil(b) + std::trunc(c)));
  check<T, T>(FUNCTION(T, std::rint(a)));
  check<T, T>(FUNCTION(T, std::copysign(a, b)));
  check<int, T>(
      FUNCTION(T, (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)));
  check<int, T>(FUNCTION(T, !(a < b) + 2 * !(a >= b) + 4 * (std::isnan(a)) + 8 * (std::isinf(c))));
}

/// Conversions out of A, where the host's result is defined.
template <class R, class A>
void check_conversion() {
  check<R, A>([] __host__ __device__(A a, A, A) {
    const bool fits =
        std::is_integral<A>::value || std::is_floating_point<R>::value ||
        ((double)a < (double)(1LL << 30) && (double)a > (std::is_signed<R>::value ? -1e9 : -0.9));
    const bool small = sizeof(R) > 2 || std::is_integral<A>::value || ((double)a < 100 && (double)a > -0.9);
    return fits && small ? static_cast<R>(a) : R(0);
  });
}

template <class A>
void check_conversions() {
  check_conversion<int8_t, A>();
  check_conversion<uint8_t, A>();
  check_conversion<int16_t, A>();
  check_conversion<uint16_t, A>();
  check_conversion<int32_t, A>();
  check_conversion<uint32_t, A>();
  check_conversion<int64_t, A>();
  check_conversion<uint64_t, A>();
  check_conversion<float, A>();
  check_conversion<double, A>();
}

}  // namespace

TEST_CASE("Integers of all widths compute as on the host") {
  check_integers<int8_t>();
  check_integers<uint8_t>();
  check_integers<int16_t>();
  check_integers<uint16_t>();
  check_integers<int32_t>();
  check_integers<uint32_t>();
  check_integers<int64_t>();
  check_integers<uint64_t>();
}

TEST_CASE("Floats and doubles compute the host's bits") {
  check_floats<float>();
  check_floats<double>();
}

TEST_CASE("Numbers convert as on the host") {
  check_conversions<int8_t>();
  check_conversions<uint8_t>();
  check_conversions<int16_t>();
  check_conversions<uint16_t>();
  check_conversions<int32_t>();
  check_conversions<uint32_t>();
  check_conversions<int64_t>();
  check_conversions<uint64_t>();
  check_conversions<float>();
  check_conversions<double>();
}

TEST_CASE("Products of 128 bits carry from one part to the next") {
  check<int64_t, int64_t>(FUNCTION(int64_t, (int64_t)(((__int128)a * b + c) >> 37)));
  check<uint64_t, uint64_t>(FUNCTION(uint64_t, (uint64_t)(((unsigned __int128)a * b + c) >> 64)));
  check<uint64_t, uint64_t>(FUNCTION(
      uint64_t, (uint64_t)((((unsigned __int128)a << 64 | b) - ((unsigned __int128)b << 64 | c)) >> 64)));
}

TEST_CASE("Carry chains of single instructions") {
  check<uint32_t, uint32_t>([] __host__ __device__(uint32_t a, uint32_t b, uint32_t c) {
#ifdef __CUDA_ARCH__
    uint32_t low, high;
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, 0;" : "=r"(low), "=r"(high) : "r"(a), "r"(b), "r"(c));
    return low ^ high;
#else
    const uint64_t sum = uint64_t{a} + b;
    return static_cast<uint32_t>(sum) ^ (c + static_cast<uint32_t>(sum >> 32));
#endif
  });
  check<uint32_t, uint32_t>([] __host__ __device__(uint32_t a, uint32_t b, uint32_t c) {
#ifdef __CUDA_ARCH__
    uint32_t low, high;
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 5;"
        : "=r"(low), "=r"(high)
        : "r"(a), "r"(b), "r"(c));
    return low ^ high;
#else
    const uint64_t sum = uint64_t{a} * b + c;
    return static_cast<uint32_t>(sum) ^ (static_cast<uint32_t>(sum >> 32) + 5);
#endif
  });
}

TEST_CASE("Bits are counted, moved and chosen") {
  check<uint32_t, uint32_t>([] __host__ __device__(uint32_t a, uint32_t b, uint32_t c) {
#ifdef __CUDA_ARCH__
    uint32_t field, inserted, table;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(a), "r"(b & 31), "r"(c & 31));
    asm("bfi.b32 %0, %1, %2, 5, 9;" : "=r"(inserted) : "r"(a), "r"(b));
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(table) : "r"(a), "r"(b), "r"(c));
    return __popc(a) + __clz(b) * 3 + __brev(c) + __byte_perm(a, b, 0x7153) + __funnelshift_l(a, b, c) +
           field + inserted + table + __ffs(c);
#else
    const auto reversed = [](uint32_t value) {
      uint32_t result = 0;
      for (int bit = 0; bit < 32; ++bit) result |= (value >> bit & 1) << (31 - bit);
      return result;
    };
    const uint32_t position = b & 31, width = c & 31;
    const uint32_t field = static_cast<uint32_t>((uint64_t{a} >> position) & ((uint64_t{1} << width) - 1));
    const uint32_t inserted = (b & ~(0x1ffU << 5)) | ((a & 0x1ff) << 5);
    uint32_t bytes = 0;
    const uint64_t both = uint64_t{b} << 32 | a;
    const int selector[] = {3, 5, 1, 7};
    for (int byte = 0; byte < 4; ++byte)
      bytes |= static_cast<uint32_t>(both >> 8 * selector[byte] & 255) << 8 * byte;
    const uint32_t funnel = static_cast<uint32_t>((both << (c & 31)) >> 32);
    return std::popcount(a) + std::countl_zero(b) * 3 + reversed(c) + bytes + funnel + field + inserted +
           ((a & b) | (a & c) | (b & c)) + (c == 0 ? 0 : std::countr_zero(c) + 1);
#endif
  });
}

TEST_CASE("Products of bytes are summed") {
  check<int, int>([] __host__ __device__(int a, int b, int c) {
#ifdef __CUDA_ARCH__
    return __dp4a(a, b, c);
#else
    for (int byte = 0; byte < 4; ++byte) {
      c = static_cast<int>(
          static_cast<uint32_t>(c) +
          static_cast<uint32_t>(static_cast<int8_t>(a >> 8 * byte) * static_cast<int8_t>(b >> 8 * byte)));
    }
    return c;
#endif
  });
}

TEST_CASE("Sums round as the instruction says") {
  check<float, float>([] __host__ __device__(float a, float b, float) {
#ifdef __CUDA_ARCH__
    return __fadd_rz(a, b);
#else
    std::fesetround(FE_TOWARDZERO);
    volatile float x = a, y = b;
    const volatile float sum = x + y;
    std::fesetround(FE_TONEAREST);
    return static_cast<float>(sum);
#endif
  });
  check<float, float>([] __host__ __device__(float a, float b, float) {
#ifdef __CUDA_ARCH__
    return __fmul_ru(a, b);
#else
    std::fesetround(FE_UPWARD);
    volatile float x = a, y = b;
    const volatile float product = x * y;
    std::fesetround(FE_TONEAREST);
    return static_cast<float>(product);
#endif
  });
}
