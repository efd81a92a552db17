// Elementary functions for the scalar maths that g++, clang and nvcc compile alike.
//
// GCC turns a loop over them into calls of glibc's vector functions (libmvec, at most 4 ULP from the exact
// value): declaring the scalar functions `simd` is what allows it, without giving up NaN and infinities as
// -ffast-math would.
#pragma once

#include <cmath>

#ifdef __CUDACC__
#define TERN_HOST_DEVICE __host__ __device__
#else
// Always inlined: sources that are compiled for several instruction sets must not share a copy.
#define TERN_HOST_DEVICE [[gnu::always_inline]]
#endif

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__CUDACC__)
extern "C" {
__attribute__((simd("notinbranch"))) float expf(float) noexcept;
__attribute__((simd("notinbranch"))) float logf(float) noexcept;
__attribute__((simd("notinbranch"))) float tanhf(float) noexcept;
__attribute__((simd("notinbranch"))) double exp(double) noexcept;
__attribute__((simd("notinbranch"))) double log(double) noexcept;
__attribute__((simd("notinbranch"))) double tanh(double) noexcept;
}
#endif

namespace tern::math {

TERN_HOST_DEVICE inline float exp(float x) { return ::expf(x); }
TERN_HOST_DEVICE inline double exp(double x) { return ::exp(x); }
TERN_HOST_DEVICE inline float log(float x) { return ::logf(x); }
TERN_HOST_DEVICE inline double log(double x) { return ::log(x); }
TERN_HOST_DEVICE inline float tanh(float x) { return ::tanhf(x); }
TERN_HOST_DEVICE inline double tanh(double x) { return ::tanh(x); }
TERN_HOST_DEVICE inline float sqrt(float x) { return ::sqrtf(x); }
TERN_HOST_DEVICE inline double sqrt(double x) { return ::sqrt(x); }

}  // namespace tern::math
