// Reductions of one dense row of floats or doubles: included, like vec.h, only by sources that are compiled
// once per instruction set.
#pragma once

#include <cstdint>

#ifndef TERN_ISA
#error "TERN_ISA must name the instruction set, which is the namespace of this compilation"
#endif

namespace tern::simd::TERN_ISA {

// Partial results side by side, so that a reduction is made of whole vectors.
constexpr int64_t lanes = 32;

/// NaN replaces a number, and nothing replaces NaN.
template <class T>
[[gnu::always_inline]] inline T larger(T most, T x) {
  return ((x > most) | (x != x)) ? x : most;
}

template <class T>
constexpr T lowest = -__builtin_inf();

/// The largest element, `lowest` of none.
template <class T>
[[gnu::always_inline]] inline T largest(const T* x, int64_t size) {
  T most = lowest<T>;
  int64_t i = 0;
  if (size >= lanes) {
    // A selection for numbers alone, and sums: they are NaN if an element is.
    T part[lanes], sum[lanes];
    for (int64_t j = 0; j < lanes; ++j) part[j] = sum[j] = x[j];
    for (i = lanes; i + lanes <= size; i += lanes) {
      for (int64_t j = 0; j < lanes; ++j) {
        part[j] = x[i + j] > part[j] ? x[i + j] : part[j];
        sum[j] += x[i + j];
      }
    }
    for (int64_t width = lanes / 2; width > 0; width /= 2) {
      for (int64_t j = 0; j < width; ++j) {
        part[j] = part[j + width] > part[j] ? part[j + width] : part[j];
        sum[j] += sum[j + width];
      }
    }
    most = part[0];
    if (sum[0] != sum[0]) most = lowest<T>, i = 0;  // perhaps only infinities that cancel: look again
  }
  for (; i < size; ++i) most = larger(most, x[i]);
  return most;
}

/// The sum of value(i), i < size, added in an order that size alone decides.
template <class T, class Value>
[[gnu::always_inline]] inline T sum_of(int64_t size, Value value) {
  T sum = 0;
  int64_t i = 0;
  if (size >= lanes) {
    T part[lanes] = {};
    for (; i + lanes <= size; i += lanes)
      for (int64_t j = 0; j < lanes; ++j) part[j] += value(i + j);
    for (int64_t width = lanes / 2; width > 0; width /= 2)
      for (int64_t j = 0; j < width; ++j) part[j] += part[j + width];
    sum = part[0];
  }
  for (; i < size; ++i) sum += value(i);
  return sum;
}

}  // namespace tern::simd::TERN_ISA
