#include <tern/kernels/pad.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/rearrange.h>
#include <tern/kernels/reduce.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// Per dimension: what is cut off at the start, what is kept of x, what is added on either side.
struct Sides {
  Shape cut, kept, before, after, shape;
};

void check_source(PadMode mode, int64_t added, int64_t kept, const Shape& x) {
  if (mode == PadMode::constant || added == 0) return;
  check(mode == PadMode::reflect    ? added < kept
        : mode == PadMode::circular ? added <= kept
                                    : kept > 0,
        "pad: a dimension of ", kept, " elements has too few to ",
        mode == PadMode::reflect ? "mirror " : "repeat for ", added, "; the input is ", x);
}

Sides sides_of(const Shape& x, const std::vector<int64_t>& padding, PadMode mode) {
  const auto count = static_cast<int64_t>(padding.size());
  check(count % 2 == 0 && count <= 2 * x.dim(), "pad: needs two numbers for each of at most ", x.dim(),
        " dimensions, got ", count);
  const Shape zeros = Shape::filled(x.dim(), 0);
  Sides sides{zeros, x, zeros, zeros, x};
  for (int64_t k = 0; k < count; k += 2) {
    const int64_t d = x.dim() - 1 - k / 2;
    const int64_t first = padding[static_cast<size_t>(k)], last = padding[static_cast<size_t>(k + 1)];
    const int64_t start = std::min<int64_t>(first, 0), end = std::min<int64_t>(last, 0);
    check(start >= -x[d] && end >= -x[d] - start, "pad: cannot cut ", first, " and ", last,
          " elements from dimension ", d, " of ", x);
    sides.cut[d] = -start, sides.kept[d] = x[d] + start + end;
    sides.before[d] = first - start, sides.after[d] = last - end;
    check_source(mode, std::max(sides.before[d], sides.after[d]), sides.kept[d], x);
    int64_t size = 0;
    check(!__builtin_add_overflow(sides.kept[d], sides.before[d], &size) &&
              !__builtin_add_overflow(size, sides.after[d], &sides.shape[d]),
          "pad: dimension ", d, " of ", x, " would have more than 2^63 - 1 elements");
  }
  return sides;
}

Layout part(const Layout& layout, int64_t dim, int64_t start, int64_t count) {
  return layout.slice(dim, start, start + count, 1);
}

// The part of the result that is x's, from dimension `first` on.
Layout inner_part(Layout layout, const Sides& sides, int64_t first = 0) {
  for (int64_t d = first; d < layout.dim(); ++d) layout = part(layout, d, sides.before[d], sides.kept[d]);
  return layout;
}

// x without what is cut off.
Layout kept_part(Layout layout, const Sides& sides) {
  for (int64_t d = 0; d < layout.dim(); ++d) layout = part(layout, d, sides.cut[d], sides.kept[d]);
  return layout;
}

// Padding on one side of one dimension of a result, and the elements of it that the padding repeats.
struct Border {
  Tensor padding, source;
  bool mirrored;
};

Border border_of(const Tensor& y, const Sides& sides, int64_t dim, bool end, PadMode mode) {
  const Layout area = inner_part(y.layout(), sides, dim + 1);
  const int64_t before = sides.before[dim], kept = sides.kept[dim];
  const int64_t added = end ? sides.after[dim] : before;
  const int64_t first = before, last = before + kept - 1;
  const Tensor padding = y.with_layout(part(area, dim, end ? last + 1 : 0, added));
  Layout source = area;
  if (mode == PadMode::reflect) source = part(area, dim, end ? last - added : first + 1, added);
  if (mode == PadMode::replicate) source = part(area, dim, end ? last : first, 1);
  if (mode == PadMode::circular) source = part(area, dim, end ? first : last + 1 - added, added);
  return {padding, y.with_layout(source), mode == PadMode::reflect};
}

// Calls body(dimension, border) for all that is not empty. A border reaches over the padding of the
// dimensions before it.
template <class Body>
void for_each_border(const Tensor& y, const Sides& sides, PadMode mode, bool backwards, Body&& body) {
  for (int64_t i = 0; i < y.dim(); ++i) {
    const int64_t d = backwards ? y.dim() - 1 - i : i;
    for (const bool end : {false, true}) {
      if ((end ? sides.after : sides.before)[d] > 0) body(d, border_of(y, sides, d, end, mode));
    }
  }
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<int64_t>& padding, PadMode mode, Scalar value) {
  check_device_kernels(x.device(), "pad");
  const Sides sides = sides_of(x.shape(), padding, mode);
  const bool nhwc = x.is_channels_last() && !x.is_contiguous();
  const Tensor y = empty(sides.shape, x.dtype(), x.device(),
                         nhwc ? MemoryFormat::channels_last : MemoryFormat::contiguous);
  copy(x.with_layout(kept_part(x.layout(), sides)), y.with_layout(inner_part(y.layout(), sides)));
  for_each_border(y, sides, mode, false, [&](int64_t dim, const Border& border) {
    if (mode == PadMode::constant)
      fill(border.padding, value);
    else
      copy(border.mirrored ? reversed(border.source, dim) : border.source, border.padding);
  });
  return y;
}

Tensor pad_backward(const Tensor& dy, const Shape& x_shape, const std::vector<int64_t>& padding,
                    PadMode mode) {
  const Sides sides = sides_of(x_shape, padding, mode);
  Tensor folded = dy;
  if (mode != PadMode::constant) {
    const DType wide = computing_dtype(dy.dtype());
    folded = wide == dy.dtype() ? clone(dy) : to(dy, wide);
    for_each_border(folded, sides, mode, true, [&](int64_t dim, const Border& border) {
      if (mode == PadMode::replicate)
        add_(border.source, sum(border.padding, {dim}, true));
      else
        add_(border.source, border.mirrored ? reversed(border.padding, dim) : border.padding);
    });
  }
  const Tensor inner = to(folded.with_layout(inner_part(folded.layout(), sides)), dy.dtype());
  if (sides.kept == x_shape) return inner;
  const Tensor dx = zeros(x_shape, dy.dtype(), dy.device());
  copy(inner, dx.with_layout(kept_part(dx.layout(), sides)));
  return dx;
}

}  // namespace tern::kernels
