#include <tern/kernels/scan.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/lines.h>
#include <tern/kernels/reduce.h>

#include <array>

namespace tern::kernels {
namespace {

constexpr int64_t scan_columns = 256;

template <class Sum, class T>
struct Scan {
  int64_t size, step;  // rows, and how far apart they lie: below 0 from the end
  const T* x;
  T* y;

  void line() const {
    Sum sum = 0;
    for (int64_t row = 0; row < size; ++row) add(sum, row * step);
  }
  // Columns side by side.
  void plane(int64_t columns) const {
    std::array<Sum, scan_columns> sums{};
    for (int64_t row = 0; row < size; ++row) {
      for (int64_t i = 0; i < columns; ++i) add(sums[static_cast<size_t>(i)], row * step + i);
    }
  }

 private:
  void add(Sum& sum, int64_t at) const {
    using Wide = std::conditional_t<std::is_arithmetic_v<T>, Sum, float>;
    sum += static_cast<Sum>(static_cast<Wide>(x[at]));
    y[at] = static_cast<T>(static_cast<Wide>(sum));
  }
};

template <class Sum, class T>
void scan(const Lines& lines, bool from_end, const T* x, T* y) {
  const int64_t parts = (lines.inner + scan_columns - 1) / scan_columns;
  const int64_t width = std::min(lines.inner, scan_columns);
  const int64_t together = std::max<int64_t>(1, lines.per_block() / width);
  parallel_for(lines.outer * parts, together, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % parts * scan_columns;
      const int64_t plane = unit / parts * lines.size * lines.inner + column;
      const int64_t first = from_end ? plane + (lines.size - 1) * lines.inner : plane;
      const Scan<Sum, T> part{lines.size, from_end ? -lines.inner : lines.inner, x + first, y + first};
      const int64_t columns = std::min(scan_columns, lines.inner - column);
      if (columns == 1)
        part.line();
      else
        part.plane(columns);
    }
  });
}

// The dimensions that stay, then those that a reduction over `dims` takes away.
Shape reduced_last(const Shape& shape, const Shape& dims) {
  const Shape kept = reduced_shape(shape, dims, true, "prod");
  Shape order;
  for (const bool stays : {true, false}) {
    for (int d = 0; d < shape.dim(); ++d) {
      if ((kept[d] == shape[d]) == stays) order.push_back(d);
    }
  }
  return order;
}

// What stands before an element, then times what stands behind it.
void multiply_others(const double* x, double* y, int64_t count) {
  double product = 1;
  for (int64_t i = 0; i < count; ++i) y[i] = product, product *= x[i];
  product = 1;
  for (int64_t i = count - 1; i >= 0; --i) y[i] *= product, product *= x[i];
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, bool from_end) {
  check_device_kernels(x.device(), "cumsum");
  dim = normalize_dim(dim, x.dim(), "cumsum");
  const Tensor input = contiguous(is_floating_point(x.dtype()) ? x : to(x, int64));
  Tensor y = empty(x.shape(), input.dtype(), x.device());
  const Lines lines(x.shape(), dim);
  if (input.dtype() == int64) {
    scan<uint64_t>(lines, from_end, input.data<int64_t>(), y.data<int64_t>());
    return y;
  }
  dispatch_floating(x.dtype(), "cumsum",
                    [&]<class T>() { scan<double>(lines, from_end, input.data<T>(), y.data<T>()); });
  return y;
}

Tensor products_of_others(const Tensor& x, const Shape& dims) {
  const Shape order = reduced_last(x.shape(), dims);
  const Tensor input = contiguous(to(x.with_layout(x.layout().permute(order)), float64));
  const Tensor y = empty(input.shape(), float64, x.device());
  const Shape kept = reduced_shape(x.shape(), dims, false, "prod");
  const int64_t count = y.numel() ? y.numel() / kept.numel() : 0;
  const int64_t lines = y.numel() ? kept.numel() : 0;
  parallel_for(
      lines, std::max<int64_t>(1, 16384 / std::max<int64_t>(count, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line)
          multiply_others(input.data<double>() + line * count, y.data<double>() + line * count, count);
      });
  Shape back = order;
  for (int d = 0; d < order.dim(); ++d) back[order[d]] = d;
  return y.with_layout(y.layout().permute(back));
}

}  // namespace tern::kernels
