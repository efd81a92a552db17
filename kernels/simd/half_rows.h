// Rows of 16-bit floating-point numbers to and from float32: included, like vec.h, only by sources that are
// compiled once per instruction set. Where the machine converts float16 in hardware (F16C), these do: g++
// does not vectorise its rounding.
#pragma once

#include <tern/core/half.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

#ifndef TERN_ISA
#error "TERN_ISA must name the instruction set, which is the namespace of this compilation"
#endif

namespace tern::simd::TERN_ISA {

#ifdef __F16C__

// (With masks, where g++ 12 does not warn of its own header.)
constexpr unsigned short all = 0xffff;

// Whole vectors of a row; how many elements that was.
[[gnu::always_inline]] inline int64_t widen_vectors(const Half* x, int64_t count, float* y) {
  int64_t i = 0;
#ifdef __AVX512F__
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(y + i,
                     _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#endif
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  return i;
}

[[gnu::always_inline]] inline int64_t narrow_vectors(const float* x, int64_t count, Half* y) {
  constexpr int to_nearest_even = 0;
  int64_t i = 0;
#ifdef __AVX512F__
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                        _mm512_maskz_cvtps_ph(all, _mm512_loadu_ps(x + i), to_nearest_even));
#endif
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), to_nearest_even));
  return i;
}

#else

inline int64_t widen_vectors(const Half*, int64_t, float*) { return 0; }
inline int64_t narrow_vectors(const float*, int64_t, Half*) { return 0; }

#endif

template <class T>
[[gnu::always_inline]] inline void widen_row(const T* __restrict x, int64_t count, float* __restrict y) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, Half>) i = widen_vectors(x, count, y);
  for (; i < count; ++i) y[i] = static_cast<float>(x[i]);
}

template <class T>
[[gnu::always_inline]] inline void narrow_row(const float* __restrict x, int64_t count, T* __restrict y) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, Half>) i = narrow_vectors(x, count, y);
  for (; i < count; ++i) y[i] = static_cast<T>(x[i]);
}

}  // namespace tern::simd::TERN_ISA
