#include <tern/kernels/softmax.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/exp_rows.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern::kernels {
namespace {

// A dense tensor seen as [outer, size, inner], where a row runs through `size` at distance `inner`.
struct Rows {
  int64_t outer = 1, size = 1, inner = 1;

  Rows(const Shape& shape, int64_t dim) {
    for (int i = 0; i < shape.dim(); ++i) (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }
  int64_t count() const { return outer * inner; }
  int64_t start(int64_t row) const { return row / inner * size * inner + row % inner; }
};

// Rows that one thread takes at a time: fixed, some ten thousand elements.
int64_t rows_per_block(const Rows& rows) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(rows.size, 1));
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Calls body(start, stride) for each row.
template <class Body>
void for_each_line(const Rows& rows, Body&& body) {
  parallel_for(rows.count(), rows_per_block(rows), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(rows.start(row), rows.inner);
  });
}

template <class T>
void softmax_row(const T* x, T* y, int64_t size, int64_t step, bool logarithm) {
  using W = Wide<T>;
  if constexpr (std::is_floating_point_v<T>) {
    if (is_vector_row<T>(size, step)) {
      const T most = row_largest(x, size);
      row_exp(x, most, y, size);
      const T total = row_sum(y, size), offset = most + std::log(total), scale = 1 / total;
      for (int64_t i = 0; i < size; ++i) y[i] = logarithm ? x[i] - offset : y[i] * scale;
      return;
    }
  }
  W largest = -std::numeric_limits<W>::infinity();
  for (int64_t i = 0; i < size; ++i) {
    const W value = static_cast<W>(x[i * step]);
    largest = value > largest || value != value ? value : largest;
  }
  W sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += std::exp(static_cast<W>(x[i * step]) - largest);
  const W offset = largest + std::log(sum), scale = 1 / sum;
  for (int64_t i = 0; i < size; ++i) {
    const W value = static_cast<W>(x[i * step]);
    y[i * step] = static_cast<T>(logarithm ? value - offset : std::exp(value - largest) * scale);
  }
}

Tensor forward(const Tensor& x, int64_t dim, bool logarithm) {
  const char* operation = logarithm ? "log_softmax" : "softmax";
  check_device_kernels(x.device(), operation);
  dim = normalize_dim(dim, x.dim(), operation);
  const Tensor input = contiguous(x);
  Tensor y = empty(x.shape(), x.dtype(), x.device());
  const Rows rows(x.shape(), dim);
  dispatch_floating(x.dtype(), operation, [&]<class T>() {
    const T* from = input.data<T>();
    T* to = y.data<T>();
    for_each_line(rows, [&](int64_t start, int64_t step) {
      softmax_row(from + start, to + start, rows.size, step, logarithm);
    });
  });
  return y;
}

// dx = y * (dy - sum(dy * y)), or for the logarithm dx = dy - exp(y) * sum(dy).
template <class T>
void backward_row(const T* dy, const T* y, T* dx, int64_t size, int64_t step, bool logarithm) {
  using W = Wide<T>;
  if constexpr (std::is_floating_point_v<T>) {
    if (logarithm && is_vector_row<T>(size, step)) {
      const T sum = row_sum(dy, size);
      row_exp(y, T(0), dx, size);
      for (int64_t i = 0; i < size; ++i) dx[i] = dy[i] - dx[i] * sum;
      return;
    }
  }
  W sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    sum += static_cast<W>(dy[i * step]) * (logarithm ? W(1) : static_cast<W>(y[i * step]));
  }
  for (int64_t i = 0; i < size; ++i) {
    const W upstream = static_cast<W>(dy[i * step]), value = static_cast<W>(y[i * step]);
    dx[i * step] = static_cast<T>(logarithm ? upstream - std::exp(value) * sum : value * (upstream - sum));
  }
}

Tensor backward(const Tensor& dy, const Tensor& y, int64_t dim, bool logarithm) {
  dim = normalize_dim(dim, y.dim(), "softmax_backward");
  const Tensor upstream = contiguous(dy), output = contiguous(y);
  Tensor dx = empty(y.shape(), y.dtype(), y.device());
  const Rows rows(y.shape(), dim);
  dispatch_floating(y.dtype(), "softmax_backward", [&]<class T>() {
    const T* d = upstream.data<T>();
    const T* v = output.data<T>();
    T* to = dx.data<T>();
    for_each_line(rows, [&](int64_t start, int64_t step) {
      backward_row(d + start, v + start, to + start, rows.size, step, logarithm);
    });
  });
  return dx;
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim) { return forward(x, dim, false); }
Tensor log_softmax(const Tensor& x, int64_t dim) { return forward(x, dim, true); }
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  return backward(dy, y, dim, false);
}
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  return backward(dy, y, dim, true);
}

}  // namespace tern::kernels
