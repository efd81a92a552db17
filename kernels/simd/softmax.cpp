#include <tern/kernels/scalar_math.h>
#include <tern/kernels/simd/row.h>
#include <tern/kernels/simd/softmax.h>

namespace tern::simd::TERN_ISA {
namespace {

constexpr int64_t block = 64;  // lines side by side

template <class T>
void scaled_exp(const T* __restrict x, int64_t size, T offset, T scale, T* __restrict y) {
  for (int64_t i = 0; i < size; ++i) y[i] = math::exp(x[i] - offset) * scale;
}

// The exponentials are kept in a short buffer on their way into the sum.
template <class T>
T log_sum_exp(const T* x, int64_t size) {
  constexpr int64_t part = 256;
  const T most = largest(x, size);
  T sum = 0;
  for (int64_t i = 0; i < size; i += part) {
    T e[part];
    const int64_t count = size - i < part ? size - i : part;
    scaled_exp(x + i, count, most, T(1), e);
    sum += sum_of<T>(count, [&](int64_t k) { return e[k]; });
  }
  return most + math::log(sum);
}

template <class T>
void forward_line(const T* __restrict x, int64_t size, bool logarithm, T* __restrict y) {
  if (logarithm) {
    const T offset = log_sum_exp(x, size);
    for (int64_t i = 0; i < size; ++i) y[i] = x[i] - offset;
    return;
  }
  scaled_exp(x, size, largest(x, size), T(1), y);
  const T scale = T(1) / sum_of<T>(size, [=](int64_t i) { return y[i]; });
  for (int64_t i = 0; i < size; ++i) y[i] *= scale;
}

// `count` lines side by side, at most `block`.
template <class T>
void forward_block(const SoftmaxLines& s, int64_t count, const T* __restrict x, T* __restrict y) {
  T most[block], sum[block];
  for (int64_t j = 0; j < count; ++j) most[j] = lowest<T>, sum[j] = 0;
  for (int64_t i = 0; i < s.size; ++i)
    for (int64_t j = 0; j < count; ++j) most[j] = larger(most[j], x[i * s.stride + j]);
  for (int64_t i = 0; i < s.size; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      const T e = math::exp(x[i * s.stride + j] - most[j]);
      y[i * s.stride + j] = e;
      sum[j] += e;
    }
  }
  for (int64_t j = 0; j < count; ++j) sum[j] = s.logarithm ? most[j] + math::log(sum[j]) : T(1) / sum[j];
  for (int64_t i = 0; i < s.size; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = i * s.stride + j;
      y[at] = s.logarithm ? x[at] - sum[j] : y[at] * sum[j];
    }
  }
}

// dx = y (dy - sum(dy y)), or for the logarithm dx = dy - exp(y) sum(dy).
template <class T>
void backward_line(const T* __restrict dy, const T* __restrict y, int64_t size, bool logarithm,
                   T* __restrict dx) {
  if (logarithm) {
    const T sum = sum_of<T>(size, [=](int64_t i) { return dy[i]; });
    for (int64_t i = 0; i < size; ++i) dx[i] = dy[i] - math::exp(y[i]) * sum;
  } else {
    const T sum = sum_of<T>(size, [=](int64_t i) { return dy[i] * y[i]; });
    for (int64_t i = 0; i < size; ++i) dx[i] = y[i] * (dy[i] - sum);
  }
}

template <class T>
void backward_block(const SoftmaxLines& s, int64_t count, const T* __restrict dy, const T* __restrict y,
                    T* __restrict dx) {
  T sum[block];
  for (int64_t j = 0; j < count; ++j) sum[j] = 0;
  for (int64_t i = 0; i < s.size; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = i * s.stride + j;
      sum[j] += s.logarithm ? dy[at] : dy[at] * y[at];
    }
  }
  for (int64_t i = 0; i < s.size; ++i) {
    const T* const dy_row = dy + i * s.stride;
    const T* const y_row = y + i * s.stride;
    T* const dx_row = dx + i * s.stride;
    if (s.logarithm) {
      for (int64_t j = 0; j < count; ++j) dx_row[j] = dy_row[j] - math::exp(y_row[j]) * sum[j];
    } else {
      for (int64_t j = 0; j < count; ++j) dx_row[j] = y_row[j] * (dy_row[j] - sum[j]);
    }
  }
}

template <class T>
void forward(const SoftmaxLines& s, const T* x, T* y) {
  if (s.stride == 0) {
    for (int64_t j = 0; j < s.count; ++j) forward_line(x + j * s.size, s.size, s.logarithm, y + j * s.size);
    return;
  }
  for (int64_t j = 0; j < s.count; j += block)
    forward_block(s, s.count - j < block ? s.count - j : block, x + j, y + j);
}

template <class T>
void backward(const SoftmaxLines& s, const T* dy, const T* y, T* dx) {
  if (s.stride == 0) {
    for (int64_t j = 0; j < s.count; ++j)
      backward_line(dy + j * s.size, y + j * s.size, s.size, s.logarithm, dx + j * s.size);
    return;
  }
  for (int64_t j = 0; j < s.count; j += block)
    backward_block(s, s.count - j < block ? s.count - j : block, dy + j, y + j, dx + j);
}

template <class T>
constexpr SoftmaxLoops<T> loops{forward<T>, backward<T>, log_sum_exp<T>, scaled_exp<T>};

}  // namespace

extern const SoftmaxKernels softmax_table;
const SoftmaxKernels softmax_table{loops<float>, loops<double>};

}  // namespace tern::simd::TERN_ISA
