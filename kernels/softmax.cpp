#include <tern/kernels/softmax.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/lines.h>

#include <cmath>
#include <limits>

namespace tern::kernels {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void softmax_row(const T* x, T* y, int64_t size, int64_t step, bool logarithm) {
  using W = Wide<T>;
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
  const Lines rows(x.shape(), dim);
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
  const Lines rows(y.shape(), dim);
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
