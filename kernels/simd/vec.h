// The vector of floats that this compilation computes with: included only by sources that are compiled once
// per instruction set, each time into another namespace (TERN_ISA) and with other flags.
//
// No function here or in such a source may have a name outside that namespace: the linker could pick one
// instruction set's copy for all. That rules out the standard library's inline functions and containers.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef TERN_ISA
#error "TERN_ISA must name the instruction set, which is the namespace of this compilation"
#endif

// Floats in a vector. A test may ask for another width than the machine has: the compiler then splits
// vectors.
#ifndef TERN_VEC_FLOATS
#if defined(__AVX512F__)
#define TERN_VEC_FLOATS 16
#elif defined(__AVX__)
#define TERN_VEC_FLOATS 8
#else
#define TERN_VEC_FLOATS 4
#endif
#endif

// For loops whose bodies index arrays that must live in registers.
#if defined(__clang__)
#define TERN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TERN_UNROLL _Pragma("GCC unroll 32")
#endif

// For loops whose turns do not depend on each other though their arrays may be one and the same.
#if defined(__clang__)
#define TERN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TERN_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace tern::simd::TERN_ISA {

constexpr int vec_floats = TERN_VEC_FLOATS;

/// How many vectors a kernel may accumulate in and still have registers for its operands.
#if TERN_VEC_FLOATS == 16 || defined(__aarch64__)
constexpr int max_accumulators = 24;
#else
constexpr int max_accumulators = 12;
#endif

typedef float Vec __attribute__((vector_size(4 * TERN_VEC_FLOATS)));
typedef int32_t IntVec __attribute__((vector_size(4 * TERN_VEC_FLOATS)));
typedef uint8_t ByteVec __attribute__((vector_size(TERN_VEC_FLOATS)));

[[gnu::always_inline]] inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

[[gnu::always_inline]] inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

[[gnu::always_inline]] inline Vec broadcast(float x) { return x - Vec{}; }

/// Lane by lane `where ? a : b`, for masks that a comparison made.
[[gnu::always_inline]] inline Vec select(IntVec where, Vec a, Vec b) { return where ? a : b; }

/// The low byte of each lane.
[[gnu::always_inline]] inline ByteVec low_bytes(IntVec v) {
  typedef uint8_t Bytes __attribute__((vector_size(4 * TERN_VEC_FLOATS)));
  const Bytes b = reinterpret_cast<Bytes>(v);
#if TERN_VEC_FLOATS == 16
  return __builtin_shufflevector(b, b, 0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
#elif TERN_VEC_FLOATS == 8
  return __builtin_shufflevector(b, b, 0, 4, 8, 12, 16, 20, 24, 28);
#else
  return __builtin_shufflevector(b, b, 0, 4, 8, 12);
#endif
}

/// max(x, 0), where NaN stays NaN.
[[gnu::always_inline]] inline Vec relu(Vec x) { return select(Vec{} > x, Vec{}, x); }

}  // namespace tern::simd::TERN_ISA
