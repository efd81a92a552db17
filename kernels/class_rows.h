// What losses over classes with class indices as targets share: rows, checks, sums.
#pragma once

#include <tern/core/tensor.h>
#include <tern/core/thread_pool.h>

#include <algorithm>

namespace tern::kernels {

/// x [N, C, d1, …] as [outer, C, inner]; row r = (n, position) has its classes at distance `inner`.
struct ClassRows {
  int64_t count = 1, classes = 1, inner = 1;
  int64_t start(int64_t row) const { return row / inner * classes * inner + row % inner; }
  /// Rows of a block: fixed, so that sums over blocks have the same bits for any number of threads.
  int64_t block() const { return std::max<int64_t>(1, 8192 / std::max<int64_t>(classes, 1)); }
};

/// The rows of x [C], [N, C] or [N, C, d1, …]. Throws Error naming `operation` unless x is floating-point,
/// the target int64 of x's shape without the classes, and the weight (if defined) [C] of x's dtype.
ClassRows class_rows(const char* operation, const Tensor& x, const Tensor& target, const Tensor& weight);

/// Throws Error naming row and value unless every (contiguous) target is a class or `ignore_index`.
void check_targets(const char* operation, const Tensor& target, const ClassRows& rows, int64_t ignore_index);

/// The loss of one row or the sum of several, and of the weights that a mean divides by.
struct WeightedLoss {
  double loss = 0, weight = 0;
};

/// The sum of one(row), a WeightedLoss, over all rows: block by block, in order.
template <class One>
WeightedLoss sum_of_rows(const ClassRows& rows, One one) {
  const Tensor sums = empty({(rows.count + rows.block() - 1) / rows.block(), 2}, float64);
  double* const parts = sums.data<double>();
  parallel_for(rows.count, rows.block(), [&](int64_t begin, int64_t end) {
    WeightedLoss sum;
    for (int64_t row = begin; row < end; ++row) {
      const WeightedLoss next = one(row);
      sum.loss += next.loss, sum.weight += next.weight;
    }
    double* const part = parts + 2 * (begin / rows.block());
    part[0] = sum.loss, part[1] = sum.weight;
  });
  WeightedLoss sum;
  for (int64_t i = 0; i < sums.numel(); i += 2) sum.loss += parts[i], sum.weight += parts[i + 1];
  return sum;
}

}  // namespace tern::kernels
