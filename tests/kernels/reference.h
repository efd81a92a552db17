// What the tests of the kernels share: tensors of every layout, their values as doubles, comparisons.
#pragma once

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

namespace tern::tests {

/// The storage position (in elements from the first) of row-major element `i`.
inline int64_t position(const Layout& layout, int64_t i) {
  int64_t at = 0;
  for (int d = layout.dim() - 1; d >= 0; --d) {
    at += i % layout.shape[d] * layout.strides[d];
    i /= layout.shape[d];
  }
  return at;
}

/// All values in row-major order.
inline std::vector<double> values(const Tensor& x) {
  std::vector<double> result;
  dispatch(x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T value = x.data<T>()[position(x.layout(), i)];
      if constexpr (std::is_arithmetic_v<T>)
        result.push_back(static_cast<double>(value));
      else
        result.push_back(static_cast<float>(value));
    }
  });
  return result;
}

/// Normally distributed (floating-point) or small integers (0 and 1 for bool), always the same.
inline Tensor random_tensor(const Shape& shape, DType dtype = float32, uint64_t seed = 1) {
  Generator generator;
  generator.manual_seed(seed);
  const Tensor x = empty(shape, dtype);
  if (is_floating_point(dtype))
    kernels::normal(x, 0, 1, generator);
  else if (dtype == boolean)
    kernels::bernoulli(x, 0.5, generator);
  else
    kernels::randint(x, 0, 9, generator);
  return x;
}

/// Tensors of equal shape and values in different orders: dense, last dimension first, with gaps.
inline std::vector<Tensor> layouts_of(const Tensor& x) {
  std::vector<Tensor> result{x};
  const auto add = [&](const Layout& layout, const Tensor& base) {
    const Tensor y = base.with_layout(layout);
    kernels::copy(x, y);
    result.push_back(y);
  };
  Shape backwards, reversed, wide = x.shape();
  for (int64_t d = x.dim() - 1; d >= 0; --d) backwards.push_back(d), reversed.push_back(x.shape()[d]);
  if (x.dim() > 1) {
    const Tensor base = empty(reversed, x.dtype());
    add(base.layout().permute(backwards), base);
  }
  if (x.dim() > 0) {
    wide[x.dim() - 1] = 2 * wide.back() + 1;
    const Tensor base = empty(wide, x.dtype());
    add(base.layout().slice(-1, 1, wide.back(), 2), base);
  }
  if (x.dim() == 4) {
    const Tensor base = empty(x.shape(), x.dtype(), {}, MemoryFormat::channels_last);
    add(base.layout(), base);
  }
  return result;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = kernels::contiguous(a), y = kernels::contiguous(b);
  return x.dtype() == y.dtype() && x.shape() == y.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel()) * size_of(x.dtype())) == 0;
}

/// The largest |actual - expected| / (1 + |expected|); infinite when NaN or infinities differ.
inline double difference(const Tensor& actual, const std::vector<double>& expected) {
  const std::vector<double> got = values(actual);
  if (got.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    const double error = std::abs(got[i] - expected[i]) / (1 + std::abs(expected[i]));
    worst = std::max(worst, std::isfinite(error) ? error : INFINITY);
  }
  return worst;
}

/// The difference that rounding a result of this dtype once, after a short float32 sum, may make.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 2e-6;
    case DType::float16:
      return 1e-3;
    case DType::bfloat16:
      return 8e-3;
    case DType::float64:
      return 1e-13;
    default:
      return 0;
  }
}

/// Calls make() with 1, 2 and 5 threads and says whether all results have the same bits.
template <class Make>
bool same_for_all_threads(const Make& make) {
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor first = make();
  bool same = true;
  for (const int threads : {2, 5}) {
    set_num_threads(threads);
    same &= same_bits(first, make());
  }
  set_num_threads(before);
  return same;
}

}  // namespace tern::tests
