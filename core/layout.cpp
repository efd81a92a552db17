#include <tern/core/layout.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tern {
namespace {

// Dimensions of more than one element, the one with the largest stride first.
Shape dims_by_stride(const Layout& layout) {
  Shape dims;
  for (int i = 0; i < layout.dim(); ++i) {
    if (layout.shape[i] != 1) dims.push_back(i);
  }
  // Stable without std::stable_sort, which asks the heap for memory each time.
  std::sort(dims.begin(), dims.end(), [&](int64_t a, int64_t b) {
    return std::pair(layout.strides[b], a) < std::pair(layout.strides[a], b);
  });
  return dims;
}

// The strides of an empty tensor are never used, and may be anything: a stride or an offset that is made from
// them wraps around.
int64_t wrapping_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

Strides dense_strides(const Shape& shape, MemoryFormat format) {
  Shape order;  // the dimension that lies closest comes first
  if (format == MemoryFormat::channels_last) {
    check(shape.dim() == 4, "channels_last: needs 4 dimensions [N, C, H, W], got ", shape);
    order = {1, 3, 2, 0};
  } else {
    for (int i = shape.dim() - 1; i >= 0; --i) order.push_back(i);
  }
  Strides strides = Shape::filled(shape.dim(), 1);
  // Beside a zero, sizes may multiply to more than 64 bits: the strides of an empty tensor are never used.
  uint64_t step = 1;
  for (const int64_t i : order) {
    strides[i] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
  }
  return strides;
}

bool Layout::is_dense_as(MemoryFormat format) const {
  if (numel() == 0) return true;
  const Strides expected = dense_strides(shape, format);
  for (int i = 0; i < dim(); ++i) {
    if (shape[i] != 1 && strides[i] != expected[i]) return false;
  }
  return true;
}

bool Layout::is_dense() const {
  if (numel() == 0) return true;
  const Shape dims = dims_by_stride(*this);
  int64_t step = 1;
  for (int k = dims.dim() - 1; k >= 0; --k) {
    if (strides[dims[k]] != step) return false;
    step *= shape[dims[k]];
  }
  return true;
}

bool Layout::overlaps_itself() const {
  if (numel() == 0) return false;
  const Shape dims = dims_by_stride(*this);
  int64_t reach = 0;  // the furthest place that the dimensions seen so far lead to
  for (int k = dims.dim() - 1; k >= 0; --k) {
    if (strides[dims[k]] <= reach) return true;
    reach += strides[dims[k]] * (shape[dims[k]] - 1);
  }
  return false;
}

Strides Layout::strides_like() const { return is_dense() && numel() > 0 ? strides : dense_strides(shape); }

int64_t Layout::end() const {
  if (numel() == 0) return offset;
  int64_t last = offset;
  for (int i = 0; i < dim(); ++i) last += strides[i] * (shape[i] - 1);
  return last + 1;
}

Layout Layout::permute(const Shape& dims) const {
  check(dims.dim() == dim(), "permute: ", dims, " does not list the ", dim(), " dimensions of ", shape);
  Layout result = *this;
  std::array<bool, max_dims> seen{};
  for (int i = 0; i < dim(); ++i) {
    const int64_t from = normalize_dim(dims[i], dim(), "permute");
    check(!std::exchange(seen[static_cast<size_t>(from)], true), "permute: dimension ", from,
          " is repeated in ", dims);
    result.shape[i] = shape[from];
    result.strides[i] = strides[from];
  }
  return result;
}

Layout Layout::transpose(int64_t dim0, int64_t dim1) const {
  dim0 = normalize_dim(dim0, dim(), "transpose");
  dim1 = normalize_dim(dim1, dim(), "transpose");
  Layout result = *this;
  std::swap(result.shape[dim0], result.shape[dim1]);
  std::swap(result.strides[dim0], result.strides[dim1]);
  return result;
}

Layout Layout::select(int64_t dim, int64_t index) const {
  check(this->dim() > 0, "select: a tensor without dimensions cannot be indexed");
  dim = normalize_dim(dim, this->dim(), "select");
  const int64_t size = shape[dim];
  check(index >= -size && index < size, "select: index ", index, " is outside dimension ", dim, " of shape ",
        shape);
  Layout result = *this;
  if (numel() > 0) result.offset += (index < 0 ? index + size : index) * strides[dim];
  result.shape.erase(dim);
  result.strides.erase(dim);
  return result;
}

Layout Layout::slice(int64_t dim, int64_t start, int64_t stop, int64_t step) const {
  check(this->dim() > 0, "slice: a tensor without dimensions cannot be sliced");
  check(step >= 1, "slice: step must be at least 1, got ", step);
  dim = normalize_dim(dim, this->dim(), "slice");
  const int64_t size = shape[dim];
  const auto clip = [size](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
  };
  start = clip(start);
  stop = std::max(start, clip(stop));
  step = std::min(step, std::max<int64_t>(size, 1));
  Layout result = *this;
  if (stop > start && numel() > 0) result.offset += start * strides[dim];
  result.shape[dim] = stop > start ? (stop - start - 1) / step + 1 : 0;
  result.strides[dim] = wrapping_product(strides[dim], step);
  return result;
}

Layout Layout::squeeze(int64_t dim) const {
  dim = normalize_dim(dim, this->dim(), "squeeze");
  Layout result = *this;
  if (this->dim() > 0 && shape[dim] == 1) {
    result.shape.erase(dim);
    result.strides.erase(dim);
  }
  return result;
}

Layout Layout::unsqueeze(int64_t dim) const {
  dim = normalize_dim(dim, this->dim() + 1, "unsqueeze");
  Layout result = *this;
  const int64_t stride =
      dim < this->dim() ? wrapping_product(strides[dim], std::max<int64_t>(shape[dim], 1)) : 1;
  result.shape.insert(dim, 1);
  result.strides.insert(dim, stride);
  return result;
}

Layout Layout::expand(const Shape& target) const {
  const int lead = target.dim() - dim();
  check(lead >= 0, "expand: ", shape, " has more dimensions than ", target);
  Layout result(target, Shape::filled(target.dim(), 0), offset);
  for (int i = 0; i < target.dim(); ++i) {
    const int64_t size = i < lead ? 1 : shape[i - lead];
    if (target[i] == -1 && i >= lead) result.shape[i] = size;
    check(result.shape[i] >= 0 && (size == 1 || size == result.shape[i]), "expand: ", shape,
          " does not expand to ", target);
    if (i >= lead && size == result.shape[i]) result.strides[i] = strides[i - lead];
  }
  return result;
}

// Splits both shapes into groups of dimensions with equal products; a group must be evenly strided inside.
std::optional<Layout> Layout::view(const Shape& target) const {
  if (numel() == 0) return Layout(target, dense_strides(target), offset);
  Layout result(target, Shape::filled(target.dim(), 1), offset);
  int view_dim = target.dim() - 1;
  int64_t chunk = 1;   // elements of the group of old dimensions that is being read
  int64_t filled = 1;  // elements of it that new dimensions have taken
  int64_t base = dim() ? strides.back() : 1;
  for (int i = dim() - 1; i >= 0; --i) {
    chunk *= shape[i];
    const bool group_ends = i == 0 || (shape[i - 1] != 1 && strides[i - 1] != chunk * base);
    if (!group_ends) continue;
    while (view_dim >= 0 && (filled < chunk || target[view_dim] == 1)) {
      result.strides[view_dim] = filled * base;
      filled *= target[view_dim--];
    }
    if (filled != chunk) return std::nullopt;
    if (i > 0) base = strides[i - 1], chunk = filled = 1;
  }
  if (view_dim >= 0 &&
      std::any_of(target.begin(), target.begin() + view_dim + 1, [](int64_t n) { return n != 1; })) {
    return std::nullopt;
  }
  return result;
}

Shape infer_shape(const Shape& target, int64_t numel, const char* operation) {
  Shape result = target;
  int unknown = -1;
  for (int i = 0; i < target.dim(); ++i) {
    check(target[i] >= -1, operation, ": a size is negative in ", target);
    check(target[i] != -1 || unknown < 0, operation, ": only one size may be -1 in ", target);
    if (target[i] == -1) result[unknown = i] = 1;
  }
  if (unknown >= 0) {
    const int64_t known = result.numel();
    check(known > 0 && numel % known == 0, operation, ": ", numel, " elements do not fill ", target);
    result[unknown] = numel / known;
  }
  check(result.numel() == numel, operation, ": ", numel, " elements do not fill ", target);
  return result;
}

}  // namespace tern
