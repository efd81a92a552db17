#include <tern/kernels/softmax.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/lines.h>
#include <tern/kernels/simd/softmax.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// Calls body(lines, start) for parts of lines that lie one after the other, or side by side: fixed, some ten
// thousand elements each.
template <class Body>
void for_each_part(const Lines& all, bool logarithm, Body&& body) {
  if (all.outer == 0) return;
  const int64_t lines = all.per_block();
  if (all.inner == 1) {
    parallel_for(all.outer, lines, [&](int64_t begin, int64_t end) {
      body(simd::SoftmaxLines{all.size, end - begin, 0, logarithm}, begin * all.size);
    });
    return;
  }
  const int64_t width = std::min(all.inner, std::max<int64_t>(64, lines / 64 * 64));
  const int64_t parts = (all.inner + width - 1) / width;
  parallel_for(all.outer * parts, std::max<int64_t>(1, lines / width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * width;
      body(simd::SoftmaxLines{all.size, std::min(width, all.inner - first), all.inner, logarithm},
           i / parts * all.size * all.inner + first);
    }
  });
}

template <class Body>
void dispatch_loops(DType dtype, Body&& body) {
  if (dtype == float64)
    body(simd::softmax_kernels().float64);
  else
    body(simd::softmax_kernels().float32);
}

// Half types are computed in float32 and rounded once.
DType computed_in(const Tensor& x, const char* operation) {
  check_device_kernels(x.device(), operation);
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
  return computing_dtype(x.dtype());
}

Tensor forward(const Tensor& x, int64_t dim, bool logarithm) {
  const char* operation = logarithm ? "log_softmax" : "softmax";
  const DType wide = computed_in(x, operation);
  const Lines lines(x.shape(), normalize_dim(dim, x.dim(), operation));
  const Tensor input = to(contiguous(x), wide), y = empty(x.shape(), wide, x.device());
  dispatch_loops(wide, [&]<class T>(const simd::SoftmaxLoops<T>& loops) {
    for_each_part(lines, logarithm, [&](const simd::SoftmaxLines& part, int64_t start) {
      loops.forward(part, input.data<T>() + start, y.data<T>() + start);
    });
  });
  return to(y, x.dtype());
}

Tensor backward(const Tensor& dy, const Tensor& y, int64_t dim, bool logarithm) {
  const DType wide = computed_in(y, "softmax_backward");
  const Lines lines(y.shape(), normalize_dim(dim, y.dim(), "softmax_backward"));
  const Tensor upstream = to(contiguous(dy), wide), output = to(contiguous(y), wide);
  const Tensor dx = empty(y.shape(), wide, y.device());
  dispatch_loops(wide, [&]<class T>(const simd::SoftmaxLoops<T>& loops) {
    for_each_part(lines, logarithm, [&](const simd::SoftmaxLines& part, int64_t start) {
      loops.backward(part, upstream.data<T>() + start, output.data<T>() + start, dx.data<T>() + start);
    });
  });
  return to(dx, y.dtype());
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
