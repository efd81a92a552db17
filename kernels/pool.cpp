#include <tern/kernels/pool.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/pool.h>

#include <limits>

namespace tern::kernels {
namespace {

constexpr int64_t most_places = std::numeric_limits<int32_t>::max();

struct PoolSizes {
  simd::PoolShape shape;
  Size2 dilation;
  int64_t window() const { return shape.kh * shape.kw; }
  DType index_dtype() const { return window() <= 256 ? uint8 : int32; }
  bool is_simd(DType dtype) const { return dtype == float32 && dilation == Size2(1); }
};

PoolSizes sizes_of(const Shape& x, Size2 kernel, const MaxPool2dOptions& o) {
  check(x.dim() == 4, "max_pool2d: input must be [N, C, H, W], got ", x);
  const Windows windows{kernel, o.stride.value_or(kernel), o.padding, o.dilation};
  check_windows("max_pool2d", windows);
  check_pool_padding("max_pool2d", windows);
  check(kernel.h <= most_places / kernel.w, "max_pool2d: a window of ", kernel,
        " has more than 2^31 - 1 places");
  const Size2 y = count_windows("max_pool2d", {x[2], x[3]}, windows, o.ceil_mode);
  return {{x[0], x[2], x[3], x[1], y.h, y.w, kernel.h, kernel.w, windows.stride.h, windows.stride.w,
           o.padding.h, o.padding.w},
          o.dilation};
}

// Calls tap(place in the window, element of the image's first channel) for the taps of window (p, q) inside
// the image.
template <class Tap>
void for_each_tap(const PoolSizes& sizes, int64_t p, int64_t q, Tap&& tap) {
  const simd::PoolShape& s = sizes.shape;
  const int64_t top = p * s.stride_h - s.pad_h, left = q * s.stride_w - s.pad_w;
  const Taps rows = Taps::inside(top, s.h, s.kh, sizes.dilation.h);
  const Taps columns = Taps::inside(left, s.w, s.kw, sizes.dilation.w);
  for (int64_t r = rows.first; r < rows.last; ++r) {
    for (int64_t c = columns.first; c < columns.last; ++c) {
      const int64_t row = top + r * sizes.dilation.h, column = left + c * sizes.dilation.w;
      tap(r * s.kw + c, (row * s.w + column) * s.c);
    }
  }
}

template <class T, class Index>
void forward(const PoolSizes& sizes, const T* x, T* y, Index* argmax) {
  const simd::PoolShape& s = sizes.shape;
  parallel_for(s.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin * s.oh * s.ow; at < end * s.oh * s.ow; ++at) {
      const T* image = x + at / (s.oh * s.ow) * s.h * s.w * s.c;
      for (int64_t c = 0; c < s.c; ++c) {
        T best = -std::numeric_limits<T>::infinity();
        Index place_of_best = 0;
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

Tensor max_pool2d_indices(const Tensor& argmax, const Shape& x_shape, Size2 kernel,
                          const MaxPool2dOptions& options) {
  const PoolSizes sizes = sizes_of(x_shape, kernel, options);
  const simd::PoolShape& s = sizes.shape;
  const Tensor indices = empty(argmax.shape(), int64, argmax.device(), MemoryFormat::channels_last);
  int64_t* out = indices.data<int64_t>();
  dispatch_pool(float32, sizes, [&]<class T, class Index>() {
    const Index* places = argmax.data<Index>();
    parallel_for(s.n * s.oh, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * s.ow * s.c; i < end * s.ow * s.c; ++i) {
        const int64_t pixel = i / s.c, place = places[i];
        const int64_t row = pixel / s.ow % s.oh * s.stride_h - s.pad_h + place / s.kw * sizes.dilation.h;
        const int64_t column = pixel % s.ow * s.stride_w - s.pad_w + place % s.kw * sizes.dilation.w;
        const bool inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
        out[i] = inside ? row * s.w + column : 0;
      }
    });
  });
  return indices;
}

}  // namespace tern::kernels
