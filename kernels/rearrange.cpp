#include <tern/kernels/rearrange.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tern::kernels {
namespace {

// y = x with each dimension d moved by shifts[d], from 0 to its size: two parts a dimension.
void copy_rolled(const Tensor& x, const Tensor& y, const Shape& shifts, int dim) {
  while (dim < x.dim() && shifts[dim] == 0) ++dim;
  if (dim == x.dim()) return copy(x, y);
  const int64_t size = x.shape()[dim], shift = shifts[dim];
  const auto part = [dim](const Tensor& t, int64_t start, int64_t stop) {
    return t.with_layout(t.layout().slice(dim, start, stop, 1));
  };
  copy_rolled(part(x, 0, size - shift), part(y, shift, size), shifts, dim + 1);
  copy_rolled(part(x, size - shift, size), part(y, 0, shift), shifts, dim + 1);
}

}  // namespace

Tensor reversed(const Tensor& x, int64_t dim) {
  Layout layout = x.layout();
  if (layout.numel() == 0 || layout.shape[dim] == 1) return x;
  layout.offset += (layout.shape[dim] - 1) * layout.strides[dim];
  layout.strides[dim] = -layout.strides[dim];
  return x.with_layout(layout);
}

Tensor flip(const Tensor& x, const Shape& dims) {
  check_device_kernels(x.device(), "flip");
  std::array<bool, max_dims> seen{};
  Tensor source = x;
  for (const int64_t dim : dims) {
    const int64_t d = normalize_dim(dim, x.dim(), "flip");
    check(!std::exchange(seen[static_cast<size_t>(d)], true), "flip: dimension ", d, " is repeated in ",
          dims);
    if (x.dim() > 0) source = reversed(source, d);
  }
  const Tensor y = empty_like(x);
  copy(source, y);
  return y;
}

Tensor roll(const Tensor& x, const Shape& shifts, const Shape& dims, bool back) {
  check_device_kernels(x.device(), "roll");
  check(shifts.dim() == std::max(dims.dim(), 1), "roll: needs a shift for each dimension, got shifts ",
        shifts, " and dims ", dims);
  if (dims.empty()) {
    const Tensor dense = contiguous(x);
    const Tensor row = dense.with_layout(Layout({x.numel()}, {1}, dense.layout().offset));
    const Tensor y = roll(row, shifts, {0}, back);
    return y.with_layout(Layout(x.shape()));
  }
  Shape distances = Shape::filled(static_cast<int>(x.dim()), 0);
  for (int i = 0; i < dims.dim(); ++i) {
    const int64_t d = normalize_dim(dims[i], x.dim(), "roll");
    if (x.numel() == 0 || x.dim() == 0) continue;
    const int64_t size = x.shape()[d], shift = (shifts[i] % size + size) % size;
    distances[d] = (distances[d] + (back ? size - shift : shift)) % size;
  }
  const Tensor y = empty_like(x);
  copy_rolled(x, y, distances, 0);
  return y;
}

Tensor repeat_slices(const Tensor& x, int64_t outer, int64_t times, int64_t inner) {
  const Tensor y = empty({outer, times, inner}, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const Tensor dense = contiguous(x);
  copy(dense.with_layout(Layout({outer, 1, inner}, {inner, inner, 1}, dense.layout().offset)), y);
  return y;
}

Tensor triangle(const Tensor& x, int64_t diagonal, bool upper) {
  const char* operation = upper ? "triu" : "tril";
  check_device_kernels(x.device(), operation);
  check(x.dim() >= 2, operation, ": needs at least 2 dimensions, got ", x.shape());
  const Tensor y = empty(x.shape(), x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const Tensor source = contiguous(x);
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const auto bytes = static_cast<int64_t>(size_of(x.dtype()));
  const int64_t first = std::clamp(diagonal, -rows, columns) + (upper ? 0 : 1);
  const char* from = static_cast<const char*>(source.data());
  char* to = static_cast<char*>(y.data());
  const int64_t block = std::max<int64_t>(1, 65536 / (columns * bytes));
  parallel_for(y.numel() / columns, block, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t edge = std::clamp<int64_t>(row % rows + first, 0, columns) * bytes;
      const int64_t start = row * columns * bytes, rest = columns * bytes - edge;
      std::memcpy(to + start + (upper ? edge : 0), from + start + (upper ? edge : 0),
                  static_cast<size_t>(upper ? rest : edge));
      std::memset(to + start + (upper ? 0 : edge), 0, static_cast<size_t>(upper ? edge : rest));
    }
  });
  return y;
}

}  // namespace tern::kernels
