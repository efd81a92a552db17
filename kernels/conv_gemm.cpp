#include <tern/kernels/conv_gemm.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/matmul.h>

#include <algorithm>
#include <cstring>

namespace tern::kernels {
namespace {

// Images that share one partial sum of the weight gradient: fixed, so that no bit depends on the number of
// threads.
constexpr int64_t partial_sums = 8;

template <class T>
constexpr DType scratch_dtype = dtype_of<T>();

// Calls at(window, tap, element of x) for each window and each of its taps that lies inside the image.
template <class Inside, class Outside>
void for_each_tap(const ConvSizes& s, Inside&& inside, Outside&& outside) {
  const Conv2dOptions& o = s.options;
  for (int64_t p = 0; p < s.oh; ++p) {
    for (int64_t q = 0; q < s.ow; ++q) {
      for (int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
        const int64_t row = p * o.stride.h - o.padding.h + tap / s.kw * o.dilation.h;
        const int64_t column = q * o.stride.w - o.padding.w + tap % s.kw * o.dilation.w;
        const bool is_inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
        if (is_inside)
          inside(p * s.ow + q, tap, (row * s.w + column) * s.ic);
        else
          outside(p * s.ow + q, tap);
      }
    }
  }
}

// columns[window][tap][channel] = x at the tap, or 0 outside the image.
template <class T>
void unfold(const ConvSizes& s, const T* x, T* columns) {
  const int64_t channels = s.group_ic();
  const size_t bytes = static_cast<size_t>(channels) * sizeof(T);
  for_each_tap(
      s,
      [&](int64_t window, int64_t tap, int64_t element) {
        std::memcpy(columns + window * s.window() + tap * channels, x + element, bytes);
      },
      [&](int64_t window, int64_t tap) {
        std::memset(columns + window * s.window() + tap * channels, 0, bytes);
      });
}

// The reverse: adds each tap to the place in dx that it came from.
template <class T>
void fold(const ConvSizes& s, const T* columns, T* dx) {
  const int64_t channels = s.group_ic();
  for_each_tap(
      s,
      [&](int64_t window, int64_t tap, int64_t element) {
        const T* from = columns + window * s.window() + tap * channels;
        for (int64_t c = 0; c < channels; ++c) dx[element + c] += from[c];
      },
      [](int64_t, int64_t) {});
}

// Scratch for the windows of one image, one block per thread.
template <class T>
class Columns {
 public:
  explicit Columns(const ConvSizes& s)
      : size_(s.oh * s.ow * s.window()), memory_(empty({get_num_threads(), size_}, scratch_dtype<T>)) {}
  T* of_this_thread() const { return memory_.data<T>() + thread_index() * size_; }

 private:
  int64_t size_;
  Tensor memory_;
};

}  // namespace

template <class T>
void conv_gemm_forward(const ConvSizes& s, const T* x, const T* weight, const T* bias, T* y) {
  const Columns<T> scratch(s);
  const int64_t pixels = s.oh * s.ow, oc = s.group_oc();
  const GemmSizes sizes{.transpose_b = true,
                        .m = pixels,
                        .n = oc,
                        .k = s.window(),
                        .lda = s.window(),
                        .ldb = s.window(),
                        .ldc = s.oc};
  parallel_for(s.n, 1, [&](int64_t begin, int64_t end) {
    T* columns = scratch.of_this_thread();
    for (int64_t image = begin; image < end; ++image) {
      T* out = y + image * pixels * s.oc;
      for (int64_t i = 0; bias && i < pixels; ++i) std::copy(bias, bias + s.oc, out + i * s.oc);
      for (int64_t g = 0; g < s.options.groups; ++g) {
        unfold(s, x + image * s.h * s.w * s.ic + g * s.group_ic(), columns);
        gemm(sizes, T(1), columns, weight + g * oc * s.window(), T(bias ? 1 : 0), out + g * oc);
      }
    }
  });
}

template <class T>
void conv_gemm_backward_data(const ConvSizes& s, const T* dy, const T* weight, T* dx) {
  const Columns<T> scratch(s);
  const int64_t pixels = s.oh * s.ow, oc = s.group_oc();
  const GemmSizes sizes{
      .m = pixels, .n = s.window(), .k = oc, .lda = s.oc, .ldb = s.window(), .ldc = s.window()};
  parallel_for(s.n, 1, [&](int64_t begin, int64_t end) {
    T* columns = scratch.of_this_thread();
    for (int64_t image = begin; image < end; ++image) {
      T* out = dx + image * s.h * s.w * s.ic;
      std::fill(out, out + s.h * s.w * s.ic, T(0));
      for (int64_t g = 0; g < s.options.groups; ++g) {
        gemm(sizes, T(1), dy + image * pixels * s.oc + g * oc, weight + g * oc * s.window(), T(0), columns);
        fold(s, columns, out + g * s.group_ic());
      }
    }
  });
}

template <class T>
void conv_gemm_backward_weight(const ConvSizes& s, const T* dy, const T* x, T* dweight) {
  const Columns<T> scratch(s);
  const int64_t pixels = s.oh * s.ow, oc = s.group_oc(), size = s.oc * s.window();
  const int64_t parts = std::clamp<int64_t>(s.n, 1, partial_sums);
  const Tensor memory = empty({parts, size}, scratch_dtype<T>);
  T* sums = memory.data<T>();
  const GemmSizes sizes{.transpose_a = true,
                        .m = oc,
                        .n = s.window(),
                        .k = pixels,
                        .lda = s.oc,
                        .ldb = s.window(),
                        .ldc = s.window()};
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    T* columns = scratch.of_this_thread();
    for (int64_t part = begin; part < end; ++part) {
      std::fill(sums + part * size, sums + (part + 1) * size, T(0));
      for (int64_t image = part * s.n / parts; image < (part + 1) * s.n / parts; ++image) {
        for (int64_t g = 0; g < s.options.groups; ++g) {
          unfold(s, x + image * s.h * s.w * s.ic + g * s.group_ic(), columns);
          gemm(sizes, T(1), dy + image * pixels * s.oc + g * oc, columns, T(1),
               sums + part * size + g * oc * s.window());
        }
      }
    }
  });
  parallel_for(size, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T sum = sums[i];
      for (int64_t part = 1; part < parts; ++part) sum += sums[part * size + i];
      dweight[i] = sum;
    }
  });
}

template void conv_gemm_forward(const ConvSizes&, const float*, const float*, const float*, float*);
template void conv_gemm_forward(const ConvSizes&, const double*, const double*, const double*, double*);
template void conv_gemm_backward_data(const ConvSizes&, const float*, const float*, float*);
template void conv_gemm_backward_data(const ConvSizes&, const double*, const double*, double*);
template void conv_gemm_backward_weight(const ConvSizes&, const float*, const float*, float*);
template void conv_gemm_backward_weight(const ConvSizes&, const double*, const double*, double*);

}  // namespace tern::kernels
