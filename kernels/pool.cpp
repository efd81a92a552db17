#include <tern/kernels/pool.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/pool.h>

#include <limits>

namespace tern::kernels {
namespace {

struct PoolSizes {
  simd::PoolShape shape;
  Size2 dilation;
  int64_t window() const { return shape.kh * shape.kw; }
  DType index_dtype() const { return window() <= 256 ? uint8 : int32; }
  bool is_simd(DType dtype) const { return dtype == float32 && dilation == Size2(1); }
};

int64_t output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t reach = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (reach < 0) return 0;
  int64_t count = (reach + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;  // it would start beyond the input
  return count;
}

PoolSizes sizes_of(const Shape& x, Size2 kernel, const MaxPool2dOptions& o) {
  const Size2 stride = o.stride.value_or(kernel);
  check(x.dim() == 4, "max_pool2d: input must be [N, C, H, W], got ", x);
  check(kernel.h >= 1 && kernel.w >= 1 && stride.h >= 1 && stride.w >= 1 && o.dilation.h >= 1 &&
            o.dilation.w >= 1,
        "max_pool2d: kernel, stride and dilation must be at least 1, got ", kernel, ", ", stride, " and ",
        o.dilation);
  check(o.padding.h >= 0 && o.padding.w >= 0 && 2 * o.padding.h <= kernel.h && 2 * o.padding.w <= kernel.w,
        "max_pool2d: padding must be from 0 to half the kernel ", kernel, ", got ", o.padding);
  const int64_t oh = output_size(x[2], kernel.h, stride.h, o.padding.h, o.dilation.h, o.ceil_mode);
  const int64_t ow = output_size(x[3], kernel.w, stride.w, o.padding.w, o.dilation.w, o.ceil_mode);
  check(oh >= 1 && ow >= 1, "max_pool2d: input ", x, " with padding ", o.padding,
        " is smaller than the kernel ", kernel, " with dilation ", o.dilation);
  return {{x[0], x[2], x[3], x[1], oh, ow, kernel.h, kernel.w, stride.h, stride.w, o.padding.h, o.padding.w},
          o.dilation};
}

// Calls tap(place in the window, element of the image's first channel) for the taps of window (p, q) inside
// the image.
template <class Tap>
void for_each_tap(const PoolSizes& sizes, int64_t p, int64_t q, Tap&& tap) {
  const simd::PoolShape& s = sizes.shape;
  for (int64_t place = 0; place < sizes.window(); ++place) {
    const int64_t row = p * s.stride_h - s.pad_h + place / s.kw * sizes.dilation.h;
    const int64_t column = q * s.stride_w - s.pad_w + place % s.kw * sizes.dilation.w;
    if (row >= 0 && row < s.h && column >= 0 && column < s.w) tap(place, (row * s.w + column) * s.c);
  }
}

template <class T, class Index>
void forward(const PoolSizes& sizes, const T* x, T* y, Index* argmax) {
  const simd::PoolShape& s = sizes.shape;
  parallel_for(s.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin * s.oh * s.ow; at < end * s.oh * s.ow; ++at) {
      const T* image = x + at / (s.oh * s.ow) * s.h * s.w * s.c;
      for (int64_t c = 0; c < s.c; ++c) {
        T best{};
        Index place_of_best{};
        bool first = true;
        for_each_tap(sizes, at / s.ow % s.oh, at % s.ow, [&](int64_t place, int64_t element) {
          const T value = image[element + c];
          const auto number = static_cast<double>(value);
          if (first || number > static_cast<double>(best) || number != number) {
            best = value, place_of_best = static_cast<Index>(place), first = false;
          }
        });
        y[at * s.c + c] = best;
        argmax[at * s.c + c] = place_of_best;
      }
    }
  });
}

template <class T, class Index>
void backward(const PoolSizes& sizes, const T* dy, const Index* argmax, T* dx) {
  const simd::PoolShape& s = sizes.shape;
  parallel_for(s.n, 1, [&](int64_t begin, int64_t end) {
    std::fill(dx + begin * s.h * s.w * s.c, dx + end * s.h * s.w * s.c, T(0));
    for (int64_t at = begin * s.oh * s.ow; at < end * s.oh * s.ow; ++at) {
      T* image = dx + at / (s.oh * s.ow) * s.h * s.w * s.c;
      for_each_tap(sizes, at / s.ow % s.oh, at % s.ow, [&](int64_t place, int64_t element) {
        for (int64_t c = 0; c < s.c; ++c) {
          if (argmax[at * s.c + c] == static_cast<Index>(place)) image[element + c] += dy[at * s.c + c];
        }
      });
    }
  });
}

// Calls body.template operator()<T, Index>() for float or double and the index type of `sizes`.
template <class Body>
void dispatch_pool(DType dtype, const PoolSizes& sizes, Body&& body) {
  const bool small = sizes.index_dtype() == uint8;
  if (dtype == float64) {
    small ? body.template operator()<double, uint8_t>() : body.template operator()<double, int32_t>();
  } else {
    small ? body.template operator()<float, uint8_t>() : body.template operator()<float, int32_t>();
  }
}

template <class Index>
const simd::MaxPool<Index>& simd_pool() {
  if constexpr (sizeof(Index) == 1)
    return simd::pool_kernels().max_small;
  else
    return simd::pool_kernels().max_large;
}

}  // namespace

MaxPool2d max_pool2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& options) {
  check(is_floating_point(x.dtype()), "max_pool2d: needs a floating-point tensor, got ", x.dtype());
  check(x.device().is_cpu(), "max_pool2d: no kernel for ", x.device());
  if (is_reduced_floating_point(x.dtype())) {
    const MaxPool2d wide = max_pool2d(to(x, float32), kernel, options);
    return {to(wide.y, x.dtype()), wide.argmax};
  }
  const PoolSizes sizes = sizes_of(x.shape(), kernel, options);
  const Shape shape{x.size(0), x.size(1), sizes.shape.oh, sizes.shape.ow};
  const Tensor input = contiguous(x, MemoryFormat::channels_last);
  MaxPool2d result{empty(shape, x.dtype(), x.device(), MemoryFormat::channels_last),
                   empty(shape, sizes.index_dtype(), x.device(), MemoryFormat::channels_last)};
  dispatch_pool(x.dtype(), sizes, [&]<class T, class Index>() {
    if constexpr (std::is_same_v<T, float>) {
      if (sizes.is_simd(x.dtype())) {
        return parallel_for(sizes.shape.n * sizes.shape.oh, 4, [&](int64_t begin, int64_t end) {
          simd_pool<Index>().forward(sizes.shape, input.data<float>(), result.y.data<float>(),
                                     result.argmax.data<Index>(), begin, end);
        });
      }
    }
    forward(sizes, input.data<T>(), result.y.data<T>(), result.argmax.data<Index>());
  });
  return result;
}

Tensor max_pool2d_backward(const Tensor& dy, const Tensor& argmax, const Shape& x_shape, Size2 kernel,
                           const MaxPool2dOptions& options) {
  if (is_reduced_floating_point(dy.dtype())) {
    return to(max_pool2d_backward(to(dy, float32), argmax, x_shape, kernel, options), dy.dtype());
  }
  const PoolSizes sizes = sizes_of(x_shape, kernel, options);
  Tensor dx = empty(x_shape, dy.dtype(), dy.device(), MemoryFormat::channels_last);
  const Tensor upstream = contiguous(dy, MemoryFormat::channels_last);
  dispatch_pool(dy.dtype(), sizes, [&]<class T, class Index>() {
    if constexpr (std::is_same_v<T, float>) {
      if (sizes.is_simd(dy.dtype())) {
        return parallel_for(sizes.shape.n * sizes.shape.h, 4, [&](int64_t begin, int64_t end) {
          simd_pool<Index>().backward(sizes.shape, upstream.data<float>(), argmax.data<Index>(),
                                      dx.data<float>(), begin, end);
        });
      }
    }
    backward(sizes, upstream.data<T>(), argmax.data<Index>(), dx.data<T>());
  });
  return dx;
}

}  // namespace tern::kernels
