#include <tern/kernels/resize.h>

#include <tern/core/inline_vector.h>
#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/resize.h>

#include <algorithm>
#include <cmath>

namespace tern::kernels {
namespace {

int64_t scaled(int64_t size, double factor) {
  const double result = std::floor(static_cast<double>(size) * factor);
  check(result >= 1 && result < 0x1p62, "interpolate: scale_factor ", factor, " makes ", size, " pixels ",
        result);
  return static_cast<int64_t>(result);
}

Size2 result_size(const Shape& x, const InterpolateOptions& o) {
  check(x.dim() == 4, "interpolate: input must be [N, C, H, W], got ", x);
  check(x[2] >= 1 && x[3] >= 1, "interpolate: the input's height and width must be above 0, got ", x);
  check(o.size.has_value() != o.scale_factor.has_value(),
        "interpolate: needs either size or scale_factor, got ", o.size ? "both" : "neither");
  check(!o.align_corners || o.mode == InterpolateMode::bilinear,
        "interpolate: align_corners is for the bilinear mode");
  const Size2 size =
      o.size ? *o.size : Size2(scaled(x[2], o.scale_factor->h), scaled(x[3], o.scale_factor->w));
  check(size.h >= 1 && size.w >= 1, "interpolate: size must be above 0, got ", size);
  return size;
}

using Taps = InlineVector<simd::ResizeTap, 4>;

// One dimension: how many pixels there are and shall be, and the factor that was given or 0.
struct Axis {
  int64_t from, to;
  double factor;
};

// The pixels that make up pixel i of the result.
Taps taps_of(const Axis& axis, int64_t i, const InterpolateOptions& o) {
  const auto from = static_cast<double>(axis.from), to = static_cast<double>(axis.to),
             at = static_cast<double>(i);
  const double step = axis.factor > 0 ? 1 / axis.factor : from / to;
  if (o.mode == InterpolateMode::nearest) {
    const auto exact = static_cast<int64_t>(static_cast<__int128>(i) * axis.from / axis.to);
    const int64_t nearest = axis.factor > 0 ? static_cast<int64_t>(std::min(at * step, from)) : exact;
    return {{std::min(nearest, axis.from - 1), 1}};
  }
  const double corner = axis.to > 1 ? (from - 1) / (to - 1) * at : 0;
  const double place = o.align_corners ? corner : std::max((at + 0.5) * step - 0.5, 0.0);
  const int64_t low = std::min(static_cast<int64_t>(std::min(place, from)), axis.from - 1);
  const double weight = std::min(place - static_cast<double>(low), 1.0);
  if (weight == 0 || low == axis.from - 1) return {{low, 1}};
  return {{low, 1 - weight}, {low + 1, weight}};
}

struct Table {
  InlineVector<int64_t, 1> begin;
  Taps taps;
  simd::ResizeTable view() const { return {begin.begin(), taps.begin()}; }
};

Table forward_table(const Axis& axis, const InterpolateOptions& options) {
  Table table;
  table.begin.push_back(0);
  for (int64_t i = 0; i < axis.to; ++i) {
    for (const simd::ResizeTap& tap : taps_of(axis, i, options)) table.taps.push_back(tap);
    table.begin.push_back(static_cast<int64_t>(table.taps.size()));
  }
  return table;
}

// For each pixel of the source those of the result that it takes part in.
Table backward_table(const Axis& axis, const InterpolateOptions& options) {
  const Table forward = forward_table(axis, options);
  Table table;
  table.begin.resize(static_cast<size_t>(axis.from) + 2);
  for (const simd::ResizeTap& tap : forward.taps) ++table.begin[static_cast<size_t>(tap.at) + 2];
  for (size_t i = 2; i < table.begin.size(); ++i) table.begin[i] += table.begin[i - 1];
  table.taps.resize(forward.taps.size());
  for (int64_t i = 0; i < axis.to; ++i) {
    const auto k = static_cast<size_t>(i);
    for (int64_t t = forward.begin[k]; t < forward.begin[k + 1]; ++t) {
      const simd::ResizeTap& tap = forward.taps[static_cast<size_t>(t)];
      const int64_t place = table.begin[static_cast<size_t>(tap.at) + 1]++;
      table.taps[static_cast<size_t>(place)] = {i, tap.weight};
    }
  }
  return table;
}

void run(const Tensor& from, const Tensor& to, const Table& rows, const Table& columns) {
  const simd::ResizeTask task{from.size(2), from.size(3), to.size(2),    to.size(3),
                              to.size(1),   rows.view(),  columns.view()};
  const int64_t block = std::max<int64_t>(1, 16384 / std::max<int64_t>(to.size(3) * to.size(1), 1));
  parallel_for(to.size(0) * to.size(2), block, [&](int64_t begin, int64_t end) {
    if (to.dtype() == float64)
      simd::resize_kernels().for_double(task, from.data<double>(), to.data<double>(), begin, end);
    else
      simd::resize_kernels().for_float(task, from.data<float>(), to.data<float>(), begin, end);
  });
}

// The tables that `make` gives for height and width lead from `from` to a tensor of `shape`.
template <class Make>
Tensor resized(const Tensor& from, const Shape& shape, const Shape& x, Size2 size,
               const InterpolateOptions& options, Make make) {
  if (is_reduced_floating_point(from.dtype())) {
    return to(resized(to(from, float32), shape, x, size, options, make), from.dtype());
  }
  const Tensor result = empty(shape, from.dtype(), from.device(), MemoryFormat::channels_last);
  if (result.numel() == 0) return result;
  const Scale2 factor = options.scale_factor.value_or(0);
  run(contiguous(from, MemoryFormat::channels_last), result, make({x[2], size.h, factor.h}, options),
      make({x[3], size.w, factor.w}, options));
  return result;
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  check(is_floating_point(x.dtype()), "interpolate: needs a floating-point tensor, got ", x.dtype());
  check_device_kernels(x.device(), "interpolate");
  const Size2 size = result_size(x.shape(), options);
  return resized(x, {x.size(0), x.size(1), size.h, size.w}, x.shape(), size, options, forward_table);
}

Tensor interpolate_backward(const Tensor& dy, const Shape& x_shape, const InterpolateOptions& options) {
  return resized(dy, x_shape, x_shape, result_size(x_shape, options), options, backward_table);
}

}  // namespace tern::kernels
