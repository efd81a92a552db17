// How a tensor's elements lie in its storage: shape, strides (in elements) and the offset of the first one.
//
// Views are new layouts over the same storage. A dense tensor is in one of two orders: contiguous (the last
// dimension lies closest) or channels-last (4 dimensions [N, C, H, W] that lie as N, H, W, C). A tensor can
// be in both at once (C = 1, or H = W = 1, or empty); it then counts as contiguous and as channels-last.
#pragma once

#include <tern/core/shape.h>

#include <optional>

namespace tern {

enum class MemoryFormat : unsigned char { contiguous, channels_last };

/// Strides of a dense tensor of `shape`. Channels-last throws Error unless there are 4 dimensions.
Strides dense_strides(const Shape& shape, MemoryFormat format = MemoryFormat::contiguous);

class Layout {
 public:
  Layout() = default;
  explicit Layout(const Shape& sizes, MemoryFormat format = MemoryFormat::contiguous)
      : shape(sizes), strides(dense_strides(sizes, format)) {}
  Layout(const Shape& sizes, const Strides& steps, int64_t start = 0)
      : shape(sizes), strides(steps), offset(start) {}

  Shape shape;
  Strides strides;
  int64_t offset = 0;

  int dim() const { return shape.dim(); }
  int64_t numel() const { return shape.numel(); }
  bool is_contiguous() const { return is_dense_as(MemoryFormat::contiguous); }
  bool is_channels_last() const { return dim() == 4 && is_dense_as(MemoryFormat::channels_last); }
  /// Each element of a block of numel() places is used exactly once, in whatever order of dimensions.
  bool is_dense() const;
  /// Two indices lead to the same place: the layout of an expanded view. In-place writes through it are
  /// refused.
  bool overlaps_itself() const;
  /// The strides of a new dense tensor that keeps this one's order of dimensions: a permuted dense tensor
  /// gives its own strides, anything else contiguous ones.
  Strides strides_like() const;
  /// One past the last storage element that is reached; `offset` when empty.
  int64_t end() const;

  // Views. Each throws Error naming the operation when the arguments do not fit.
  Layout permute(const Shape& dims) const;
  Layout transpose(int64_t dim0, int64_t dim1) const;
  Layout select(int64_t dim, int64_t index) const;
  /// Elements start, start + step, … below stop of dimension `dim`; negative bounds count from the end, and
  /// bounds beyond the ends are clipped, as in NumPy. step >= 1.
  Layout slice(int64_t dim, int64_t start, int64_t stop, int64_t step) const;
  Layout squeeze(int64_t dim) const;
  Layout unsqueeze(int64_t dim) const;
  Layout expand(const Shape& target) const;
  /// The same elements in row-major order as `target`, or nothing when no strides can express it.
  std::optional<Layout> view(const Shape& target) const;

 private:
  bool is_dense_as(MemoryFormat format) const;
};

/// `target` with its one -1 replaced by what makes it hold `numel` elements.
Shape infer_shape(const Shape& target, int64_t numel, const char* operation);

}  // namespace tern
