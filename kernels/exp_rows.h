// Exponentials of dense rows with the vector functions: what softmax and cross-entropy spend their time on.
#pragma once

#include <tern/kernels/reduce_loops.h>
#include <tern/kernels/simd/pointwise.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace tern::kernels {

/// Whether a row is worth it: of a type that has vector functions, dense, and not short.
template <class T>
constexpr bool is_vector_row(int64_t size, int64_t step) {
  return std::is_floating_point_v<T> && step == 1 && size >= 32;
}

/// The sum of a row.
template <class T>
T row_sum(const T* x, int64_t size) {
  Accumulator sum{.floating = 0};
  reduce_loops(ReduceOp::sum, dtype_of<T>()).row(x, 1, size, &sum);
  return static_cast<T>(sum.floating);
}

/// The largest of a row; NaN wins.
template <class T>
T row_largest(const T* x, int64_t size) {
  Accumulator most = reduce_start(ReduceOp::max, dtype_of<T>());
  reduce_loops(ReduceOp::max, dtype_of<T>()).row(x, 1, size, &most);
  return static_cast<T>(most.floating);
}

/// y = exp(x - shift), elsewhere than x.
template <class T>
void row_exp(const T* x, T shift, T* y, int64_t size) {
  simd::pointwise_kernels().unary(ShiftedExp{static_cast<double>(shift)}, dtype_of<T>(), x, y, size);
}

/// log(sum(exp(x))) of a row, without overflow.
template <class T>
T row_log_sum_exp(const T* x, int64_t size) {
  constexpr int64_t chunk = 1024;
  T buffer[chunk];
  const T largest = row_largest(x, size);
  T sum = 0;
  for (int64_t i = 0; i < size; i += chunk) {
    const int64_t n = std::min(chunk, size - i);
    row_exp(x + i, largest, buffer, n);
    sum += row_sum(buffer, n);
  }
  return largest + std::log(sum);
}

}  // namespace tern::kernels
