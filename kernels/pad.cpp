#include <tern/kernels/pad.h>

#include <tern/core/inline_vector.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/rearrange.h>
#include <tern/kernels/reduce.h>
#include <tern/kernels/words.h>

#include <algorithm>
#include <cstring>

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

// A dimension of the result: how many elements it has and takes from x, and where and how far apart these
// lie.
struct Axis {
  int64_t size, kept, before, stride;

  // Which of x's elements along the dimension is at `place`; -1 where the padding's value is.
  int64_t source(int64_t place, PadMode mode) const {
    const int64_t at = place - before;
    if (at >= 0 && at < kept) return at;
    if (mode == PadMode::constant) return -1;
    if (mode == PadMode::reflect) return at < 0 ? -at : 2 * (kept - 1) - at;
    if (mode == PadMode::replicate) return at < 0 ? 0 : kept - 1;
    return at < 0 ? at + kept : at - kept;
  }
};

// The result's dimensions in the order of its memory, innermost first, from the first on that is padded. What
// lies inside that one is a unit, copied whole; outer neighbours that are not padded melt. At least two.
struct Axes {
  int64_t unit = 1;
  InlineVector<Axis, 4> list;

  Axes(const Sides& sides, const Shape& x, bool nhwc) {
    bool melts = true;
    int64_t reach = 1;
    for (int i = 0; i < x.dim(); ++i) {
      const int d = !nhwc ? x.dim() - 1 - i : i == 0 ? 1 : i == 3 ? 0 : 4 - i;
      const bool whole = sides.shape[d] == x[d] && sides.kept[d] == x[d];
      if (whole && list.empty())
        unit *= x[d];
      else if (whole && melts)
        list.back().size *= x[d], list.back().kept *= x[d];
      else
        list.push_back({sides.shape[d], sides.kept[d], sides.before[d], reach});
      melts = whole;
      reach *= x[d];
    }
    while (list.size() < 2) list.push_back({1, 1, 0, 0});
  }
};

// A row of the result: along the innermost axis.
template <class Word>
class Row {
 public:
  Row(const Axes& axes, PadMode mode, Word value)
      : unit_(axes.unit),
        size_(axes.list[0].size),
        before_(axes.list[0].before),
        kept_(axes.list[0].kept),
        step_(mode == PadMode::reflect     ? -1
              : mode == PadMode::replicate ? 0
                                           : 1),
        first_(axes.list[0].source(0, mode)),
        last_(axes.list[0].source(before_ + kept_, mode)),
        constant_(mode == PadMode::constant),
        value_(value) {}

  int64_t length() const { return size_ * unit_; }
  /// From a row of x, or of padding alone without one.
  void write(const Word* from, Word* to) const {
    if (!from) {
      std::fill_n(to, length(), value_);
      return;
    }
    write_border(from, first_, to, before_);
    std::memcpy(to + before_ * unit_, from, static_cast<size_t>(kept_ * unit_) * sizeof(Word));
    write_border(from, last_, to + (before_ + kept_) * unit_, size_ - before_ - kept_);
  }

 private:
  void write_border(const Word* from, int64_t first, Word* to, int64_t count) const {
    const int64_t step = step_, unit = unit_;
    if (constant_) {
      const Word value = value_;
      for (int64_t i = 0; i < count * unit; ++i) to[i] = value;
    } else if (unit == 1) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[first + i * step];
    } else {
      for (int64_t i = 0; i < count; ++i) std::copy_n(from + (first + i * step) * unit, unit, to + i * unit);
    }
  }

  int64_t unit_, size_, before_, kept_;
  int64_t step_, first_, last_;  // where x's elements for the two borders lie
  bool constant_;
  Word value_;
};

// `x` is null without elements.
template <class Word>
void write_rows(const Axes& axes, PadMode mode, const Word* x, Word* y, int64_t numel, Word value) {
  const Row<Word> row(axes, mode, value);
  const int64_t length = row.length();
  const auto& list = axes.list;
  parallel_for(numel / length, std::max<int64_t>(1, iterate_block / length), [&](int64_t begin, int64_t end) {
    int64_t index[max_dims], rest = begin;
    for (size_t d = 1; d < list.size(); ++d) index[d] = rest % list[d].size, rest /= list[d].size;
    while (begin < end) {
      const Word* from = x;
      for (size_t d = 2; from && d < list.size(); ++d) {
        const int64_t at = list[d].source(index[d], mode);
        from = at < 0 ? nullptr : from + at * list[d].stride;
      }
      const int64_t stop = std::min(list[1].size, index[1] + end - begin);
      for (; index[1] < stop; ++index[1], ++begin) {
        const int64_t at = from ? list[1].source(index[1], mode) : -1;
        row.write(at < 0 ? nullptr : from + at * list[1].stride, y + begin * length);
      }
      index[1] = 0;
      for (size_t d = 2; d < list.size() && ++index[d] == list[d].size; ++d) index[d] = 0;
    }
  });
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
void for_each_border(const Tensor& y, const Sides& sides, PadMode mode, Body&& body) {
  for (int64_t d = y.dim(); d-- > 0;) {
    for (const bool end : {false, true}) {
      if ((end ? sides.after : sides.before)[d] > 0) body(d, border_of(y, sides, d, end, mode));
    }
  }
}

// Edges to mirror and to repeat are x's own, as in PyTorch: what is cut off is cut after them. Where one call
// does both, it is two: adding, then cutting.
bool adds_then_cuts(const std::vector<int64_t>& padding, PadMode mode) {
  return (mode == PadMode::reflect || mode == PadMode::replicate) &&
         std::any_of(padding.begin(), padding.end(), [](int64_t number) { return number > 0; }) &&
         std::any_of(padding.begin(), padding.end(), [](int64_t number) { return number < 0; });
}

std::vector<int64_t> adding(std::vector<int64_t> padding) {
  for (int64_t& number : padding) number = std::max<int64_t>(number, 0);
  return padding;
}

std::vector<int64_t> cutting(std::vector<int64_t> padding) {
  for (int64_t& number : padding) number = std::min<int64_t>(number, 0);
  return padding;
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<int64_t>& padding, PadMode mode, Scalar value) {
  check_device_kernels(x.device(), "pad");
  if (adds_then_cuts(padding, mode)) {
    const Shape added = sides_of(x.shape(), adding(padding), mode).shape;
    sides_of(added, cutting(padding), mode);  // refuses before anything is allocated
    return pad(pad(x, adding(padding), mode, value), cutting(padding), mode, value);
  }
  const Sides sides = sides_of(x.shape(), padding, mode);
  const bool nhwc = x.is_channels_last() && !x.is_contiguous();
  const Tensor y = empty(sides.shape, x.dtype(), x.device(),
                         nhwc ? MemoryFormat::channels_last : MemoryFormat::contiguous);
  if (y.numel() == 0) return y;
  const Tensor source = contiguous(x, nhwc ? MemoryFormat::channels_last : MemoryFormat::contiguous);
  const Tensor kept = source.with_layout(kept_part(source.layout(), sides));
  const Axes axes(sides, x.shape(), nhwc);
  const Tensor filler = empty({}, x.dtype(), x.device());
  fill(filler, mode == PadMode::constant ? value : Scalar(0));
  dispatch_words(x.dtype(), [&]<class Word>() {
    write_rows(axes, mode, kept.numel() ? static_cast<const Word*>(kept.data()) : nullptr,
               static_cast<Word*>(y.data()), y.numel(), *static_cast<const Word*>(filler.data()));
  });
  return y;
}

Tensor pad_backward(const Tensor& dy, const Shape& x_shape, const std::vector<int64_t>& padding,
                    PadMode mode) {
  if (adds_then_cuts(padding, mode)) {
    const Shape added = sides_of(x_shape, adding(padding), mode).shape;
    return pad_backward(pad_backward(dy, added, cutting(padding), mode), x_shape, adding(padding), mode);
  }
  const Sides sides = sides_of(x_shape, padding, mode);
  Tensor folded = dy;
  if (mode != PadMode::constant) {
    const DType wide = computing_dtype(dy.dtype());
    folded = wide == dy.dtype() ? clone(dy) : to(dy, wide);
    for_each_border(folded, sides, mode, [&](int64_t dim, const Border& border) {
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
