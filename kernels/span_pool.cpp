#include <tern/kernels/span_pool.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/pool.h>

#include <algorithm>

namespace tern::kernels {
namespace {

using simd::PoolSpan;

// Outputs stay below this, so that positions need no look at overflow.
constexpr int64_t most_outputs = int64_t{1} << 31;

PoolSpan* spans_of(const Tensor& memory) { return static_cast<PoolSpan*>(memory.data()); }

template <class Make>
Tensor make_spans(int64_t count, Make&& make) {
  const Tensor memory = empty({count, 3}, int64);
  for (int64_t i = 0; i < count; ++i) spans_of(memory)[i] = make(i);
  return memory;
}

Tensor window_spans(int64_t size, int64_t count, int64_t kernel, int64_t stride, int64_t padding,
                    bool include_pad) {
  return make_spans(count, [=](int64_t i) {
    const int64_t start = i * stride - padding, stop = std::min(start + kernel, size + padding);
    const int64_t first = std::max<int64_t>(start, 0), last = std::max(first, std::min(stop, size));
    return PoolSpan{first, last, include_pad ? stop - start : last - first};
  });
}

// ceil((i + 1) size / count) and floor(i size / count), without the product.
Tensor even_spans(int64_t size, int64_t count) {
  const int64_t whole = count > 0 ? size / count : 0, rest = count > 0 ? size % count : 0;
  return make_spans(count, [=](int64_t i) {
    const int64_t first = i * whole + i * rest / count;
    const int64_t last = (i + 1) * whole + ((i + 1) * rest + count - 1) / count;
    return PoolSpan{first, last, last - first};
  });
}

void check_images(const char* operation, const Tensor& x) {
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
  check_device_kernels(x.device(), operation);
}

simd::SpanPoolShape shape_of(const Shape& x, const PoolSpans& spans) {
  return {x[0],
          x[2],
          x[3],
          x[1],
          spans.rows.size(0),
          spans.columns.size(0),
          spans_of(spans.rows),
          spans_of(spans.columns),
          spans.divisor};
}

// NHWC, half types as float32.
Tensor prepared(const Tensor& x) {
  const Tensor nhwc = contiguous(x, MemoryFormat::channels_last);
  return to(nhwc, computing_dtype(x.dtype()));
}

template <class S>
const simd::AveragePool<S>& average() {
  if constexpr (std::is_same_v<S, double>)
    return simd::pool_kernels().average64;
  else
    return simd::pool_kernels().average32;
}

Tensor images_like(const Shape& shape, const Tensor& x, DType dtype) {
  return empty(shape, dtype, x.device(), MemoryFormat::channels_last);
}

Shape pooled_shape(const Tensor& x, const simd::SpanPoolShape& s) {
  return {x.size(0), x.size(1), s.oh, s.ow};
}

// The first maximum of each channel over one window.
template <class S>
void largest(const simd::SpanPoolShape& s, const S* image, const PoolSpan& rows, const PoolSpan& columns,
             S* y, int64_t* index) {
  const int64_t start = rows.first * s.w + columns.first;
  std::copy(image + start * s.c, image + (start + 1) * s.c, y);
  std::fill(index, index + s.c, start);
  for (int64_t row = rows.first; row < rows.last; ++row) {
    for (int64_t column = columns.first; column < columns.last; ++column) {
      const int64_t at = row * s.w + column;
      for (int64_t c = 0; c < s.c; ++c) {
        const S value = image[at * s.c + c];
        const bool better = value > y[c] || value != value;
        y[c] = better ? value : y[c];
        index[c] = better ? at : index[c];
      }
    }
  }
}

}  // namespace

PoolSpans avg_pool2d_spans(const Shape& x, Size2 kernel, const AvgPool2dOptions& o) {
  check(x.dim() == 4, "avg_pool2d: input must be [N, C, H, W], got ", x);
  const Windows windows{kernel, o.stride.value_or(kernel), o.padding};
  check_windows("avg_pool2d", windows);
  check_pool_padding("avg_pool2d", windows);
  check(!o.divisor_override || *o.divisor_override != 0, "avg_pool2d: divisor_override must not be 0");
  check(x[2] >= 1 && x[3] >= 1, "avg_pool2d: input ", x, " has empty images");
  const Size2 count = count_windows("avg_pool2d", {x[2], x[3]}, windows, o.ceil_mode);
  const Size2 step = windows.stride;
  return {window_spans(x[2], count.h, kernel.h, step.h, o.padding.h, o.count_include_pad),
          window_spans(x[3], count.w, kernel.w, step.w, o.padding.w, o.count_include_pad),
          o.divisor_override.value_or(0)};
}

PoolSpans adaptive_spans(const char* operation, const Shape& x, const OutputSize2& size) {
  check(x.dim() == 4, operation, ": input must be [N, C, H, W], got ", x);
  check(x[2] >= 1 && x[3] >= 1, operation, ": input ", x, " has empty images");
  const int64_t h = size.h.value_or(x[2]), w = size.w.value_or(x[3]);
  check(h >= 0 && w >= 0 && h < most_outputs && w < most_outputs, operation,
        ": the output's size must be from 0 to 2^31 - 1, got ", Size2(h, w));
  return {even_spans(x[2], h), even_spans(x[3], w)};
}

Tensor average_pool(const char* operation, const Tensor& x, const PoolSpans& spans) {
  check_images(operation, x);
  const simd::SpanPoolShape s = shape_of(x.shape(), spans);
  const Tensor input = prepared(x), y = images_like(pooled_shape(x, s), x, input.dtype());
  if (y.numel() > 0) {
    dispatch_computing(input.dtype(), [&]<class S>() {
      parallel_for(s.n * s.oh, 4, [&](int64_t begin, int64_t end) {
        average<S>().forward(s, input.data<S>(), y.data<S>(), begin, end);
      });
    });
  }
  return to(y, x.dtype());
}

Tensor average_pool_backward(const Tensor& dy, const Shape& x_shape, const PoolSpans& spans) {
  const simd::SpanPoolShape s = shape_of(x_shape, spans);
  const Tensor upstream = prepared(dy), dx = images_like(x_shape, dy, upstream.dtype());
  if (dx.numel() > 0) {
    dispatch_computing(dx.dtype(), [&]<class S>() {
      parallel_for(s.n * s.h, 4, [&](int64_t begin, int64_t end) {
        average<S>().backward(s, upstream.data<S>(), dx.data<S>(), begin, end);
      });
    });
  }
  return to(dx, dy.dtype());
}

ValuesAndIndices span_max_pool(const char* operation, const Tensor& x, const PoolSpans& spans) {
  check_images(operation, x);
  const simd::SpanPoolShape s = shape_of(x.shape(), spans);
  const Tensor input = prepared(x), y = images_like(pooled_shape(x, s), x, input.dtype()),
               indices = images_like(y.shape(), x, int64);
  dispatch_computing(input.dtype(), [&]<class S>() {
    const S* from = input.data<S>();
    S* values = y.data<S>();
    int64_t* places = indices.data<int64_t>();
    parallel_for(y.numel() > 0 ? s.n * s.oh : 0, 4, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * s.ow; at < end * s.ow; ++at) {
        const int64_t row = at / s.ow;
        largest(s, from + row / s.oh * s.h * s.w * s.c, s.rows[row % s.oh], s.columns[at % s.ow],
                values + at * s.c, places + at * s.c);
      }
    });
  });
  return {to(y, x.dtype()), indices};
}

Tensor span_max_pool_backward(const Tensor& dy, const Tensor& indices, const Shape& x_shape) {
  const Tensor upstream = prepared(dy), dx = images_like(x_shape, dy, upstream.dtype());
  const int64_t channels = x_shape[1], pixels = x_shape[2] * x_shape[3], outputs = dy.size(2) * dy.size(3);
  const int64_t* places = indices.data<int64_t>();
  dispatch_computing(dx.dtype(), [&]<class S>() {
    const S* from = upstream.data<S>();
    S* out = dx.data<S>();
    parallel_for(x_shape[0], 1, [&](int64_t begin, int64_t end) {
      std::fill(out + begin * pixels * channels, out + end * pixels * channels, S(0));
      for (int64_t at = begin * outputs; at < end * outputs; ++at) {
        S* image = out + at / outputs * pixels * channels;
        for (int64_t c = 0; c < channels; ++c)
          image[places[at * channels + c] * channels + c] += from[at * channels + c];
      }
    });
  });
  return to(dx, dy.dtype());
}

}  // namespace tern::kernels
