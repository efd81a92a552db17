#include <tern/autograd/views.h>

#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/index.h>
#include <tern/kernels/reduce.h>

#include <algorithm>
#include <span>

namespace tern {
namespace {

// A view whose gradient is another view, of dy.
template <class Reverse>
Tensor reversible(const char* operation, const Tensor& x, const Layout& layout, Reverse reverse) {
  const OperationScope scope(operation);
  return record_view(operation, x.with_layout(layout), x, [reverse](const Tensor& dy) -> Gradients {
    return {dy.with_layout(reverse(dy.layout()))};
  });
}

// A view of a part: its gradient is zero elsewhere. `part` gives the layout of the part within the layout of
// a whole.
template <class Part>
Tensor partial(const char* operation, const Tensor& x, Part part) {
  const OperationScope scope(operation);
  return record_view(operation, x.with_layout(part(x.layout())), x,
                     [part, whole = x.layout()](const Tensor& dy) -> Gradients {
                       Tensor dx = empty_strided(whole.shape, whole.strides_like(), dy.dtype(), dy.device());
                       kernels::zero(dx);
                       kernels::copy(dy, dx.with_layout(part(dx.layout())));
                       return {dx};
                     });
}

// dy, row-major, in the shape of x.
Tensor reshaped(const Tensor& dy, const Shape& shape) {
  const auto layout = dy.layout().view(shape);
  return layout ? dy.with_layout(*layout) : kernels::contiguous(dy).with_layout(Layout(shape));
}

Tensor view_as(const char* operation, const Tensor& x, const Layout& layout) {
  const OperationScope scope(operation);
  return record_view(operation, x.with_layout(layout), x,
                     [shape = x.shape()](const Tensor& dy) -> Gradients { return {reshaped(dy, shape)}; });
}

Shape inverse_permutation(const Shape& dims) {
  Shape inverse = dims;
  for (int i = 0; i < dims.dim(); ++i) inverse[normalize_dim(dims[i], dims.dim(), "permute")] = i;
  return inverse;
}

}  // namespace

Tensor view(const Tensor& x, const Shape& shape) {
  const Shape target = infer_shape(shape, x.numel(), "view");
  const auto layout = x.layout().view(target);
  check(layout.has_value(), "view: shape ", x.shape(), " with strides ", x.strides(), " cannot be seen as ",
        target, " without a copy; use reshape");
  return view_as("view", x, *layout);
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Shape target = infer_shape(shape, x.numel(), "reshape");
  if (const auto layout = x.layout().view(target)) return view_as("reshape", x, *layout);
  const OperationScope scope("reshape");
  return record("reshape", kernels::contiguous(x).with_layout(Layout(target)), {x},
                [shape = x.shape()](const Tensor& dy) -> Gradients { return {reshaped(dy, shape)}; });
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const int64_t first = normalize_dim(start_dim, x.dim(), "flatten"),
                last = normalize_dim(end_dim, x.dim(), "flatten");
  check(first <= last, "flatten: start_dim ", start_dim, " comes after end_dim ", end_dim);
  Shape target, merged;
  for (int64_t i = 0; i < x.dim(); ++i) {
    (i >= first && i <= last ? merged : target).push_back(x.shape()[i]);
    if (i == last) target.push_back(merged.numel());
  }
  return reshape(x, x.dim() == 0 ? Shape{1} : target);
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  return reversible("transpose", x, x.layout().transpose(dim0, dim1),
                    [dim0, dim1](const Layout& dy) { return dy.transpose(dim0, dim1); });
}

Tensor t(const Tensor& x) {
  check(x.dim() <= 2, "t: needs at most 2 dimensions, got ", x.shape());
  return x.dim() < 2 ? x : transpose(x, 0, 1);
}

Tensor permute(const Tensor& x, const Shape& dims) {
  return reversible("permute", x, x.layout().permute(dims),
                    [dims](const Layout& dy) { return dy.permute(inverse_permutation(dims)); });
}

Tensor squeeze(const Tensor& x, int64_t dim) { return view_as("squeeze", x, x.layout().squeeze(dim)); }

Tensor unsqueeze(const Tensor& x, int64_t dim) { return view_as("unsqueeze", x, x.layout().unsqueeze(dim)); }

Tensor expand(const Tensor& x, const Shape& shape) {
  const OperationScope scope("expand");
  return record_view(
      "expand", x.with_layout(x.layout().expand(shape)), x,
      [shape = x.shape()](const Tensor& dy) -> Gradients { return {kernels::sum_to(dy, shape)}; });
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  return partial("select", x, [=](const Layout& whole) { return whole.select(dim, index); });
}

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  return partial("slice", x, [=](const Layout& whole) { return whole.slice(dim, start, stop, step); });
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  const int64_t size = x.size(dim), first = start < 0 ? start + size : start;
  check(first >= 0 && length >= 0 && first <= size && length <= size - first, "narrow: ", length,
        " elements from ", start, " are not all in dimension ", dim, " of shape ", x.shape());
  return partial("narrow", x,
                 [=](const Layout& whole) { return whole.slice(dim, first, first + length, 1); });
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t first = normalize_dim(dim1, x.dim(), "diagonal"),
                second = normalize_dim(dim2, x.dim(), "diagonal");
  check(x.dim() >= 2 && first != second, "diagonal: needs two dimensions of ", x.shape(), ", got ", dim1,
        " and ", dim2);
  return partial("diagonal", x, [=](const Layout& whole) {
    const int64_t rows = whole.shape[first], columns = whole.shape[second];
    const int64_t down = std::clamp<int64_t>(offset, -rows, 0),
                  right = std::clamp<int64_t>(offset, 0, columns);
    Layout part = whole;
    const int64_t size = std::max<int64_t>(std::min(rows + down, columns - right), 0);
    if (size > 0) part.offset += right * whole.strides[second] - down * whole.strides[first];
    for (const int64_t d : {std::max(first, second), std::min(first, second)})
      part.shape.erase(d), part.strides.erase(d);
    part.shape.push_back(size), part.strides.push_back(whole.strides[first] + whole.strides[second]);
    return part;
  });
}

Tensor index(const Tensor& x, std::initializer_list<Index> indices) {
  check(static_cast<int64_t>(indices.size()) <= x.dim(), "index: ", indices.size(), " indices for shape ",
        x.shape());
  Tensor result = x;
  int64_t dim = 0;
  for (const Index& one : indices) {
    if (const auto* position = std::get_if<int64_t>(&one)) {
      result = select(result, dim, *position);
      continue;
    }
    if (const auto* range = std::get_if<Slice>(&one))
      result = slice(result, dim, range->start, range->stop, range->step);
    else
      result = index_select(result, dim, std::get<Tensor>(one));
    ++dim;
  }
  return result;
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  const OperationScope scope("index_select");
  return record("index_select", kernels::index_select(x, dim, index), {x},
                [layout = x.layout(), dim, index = SavedTensor(index)](const Tensor& dy) -> Gradients {
                  Tensor dx = empty_strided(layout.shape, layout.strides_like(), dy.dtype(), dy.device());
                  kernels::zero(dx);
                  kernels::index_add(dx, dim, index.get(), dy);
                  return {dx};
                });
}

namespace {

Tensor cat_span(std::span<const Tensor> tensors, int64_t dim) {
  const OperationScope scope("cat");
  check(!tensors.empty(), "cat: needs at least one tensor");
  dim = normalize_dim(dim, tensors[0].dim(), "cat");
  DType dtype = tensors[0].dtype();
  for (const Tensor& x : tensors) dtype = promote(dtype, x.dtype());
  InlineVector<Tensor, 4> inputs;
  InlineVector<int64_t, 4> sizes;
  InlineVector<DType, 4> dtypes;
  for (const Tensor& x : tensors) {
    inputs.push_back(kernels::to(x, dtype));
    sizes.push_back(x.dim() ? x.size(dim) : 1);
    dtypes.push_back(x.dtype());
  }
  return record("cat", kernels::cat({inputs.begin(), inputs.size()}, dim), tensors,
                [dim, sizes, dtypes](const Tensor& dy, Wants wants) -> Gradients {
                  Gradients gradients;
                  int64_t start = 0;
                  for (size_t i = 0; i < sizes.size(); ++i) {
                    const Layout part = dy.layout().slice(dim, start, start + sizes[i], 1);
                    gradients.push_back(wants[i] ? kernels::to(dy.with_layout(part), dtypes[i]) : Tensor());
                    start += sizes[i];
                  }
                  return gradients;
                });
}

}  // namespace

Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim) {
  return cat_span({tensors.begin(), tensors.size()}, dim);
}

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) { return cat_span(tensors, dim); }

}  // namespace tern
