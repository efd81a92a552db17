#include <tern/kernels/gather.h>

#include <tern/kernels/addends.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/lines.h>
#include <tern/kernels/positions.h>
#include <tern/kernels/scalar_math.h>

namespace tern::kernels {
namespace {

int64_t stride_along(const Layout& x, int64_t dim) { return x.dim() ? x.strides[dim] : 0; }

Tensor checked_index(const Tensor& x, int64_t dim, const Tensor& index, const char* operation) {
  check_same_device(x, index, operation);
  check(index.dim() == x.dim(), operation, ": index must have ", x.dim(), " dimensions, got ", index.shape());
  for (int64_t i = 0; i < x.dim(); ++i) {
    check(i == dim || index.shape()[i] <= x.shape()[i], operation, ": index ", index.shape(),
          " is larger than ", x.shape(), " in dimension ", i);
  }
  return checked_positions(index, size_along(x.shape(), dim), operation);
}

// The part of src that index reaches.
Tensor checked_source(const Tensor& x, const Tensor& index, const Tensor& src, const char* operation) {
  check_same_device(x, src, operation);
  check_same_dtype(x, src, operation);
  bool fits = src.dim() == index.dim();
  for (int64_t i = 0; fits && i < src.dim(); ++i) fits = index.shape()[i] <= src.shape()[i];
  check(fits, operation, ": index ", index.shape(), " is larger than src ", src.shape());
  return src.with_layout(Layout(index.shape(), src.strides(), src.layout().offset));
}

// Calls element(position in x, position in `other`) for all places of the index, `other` being laid out over
// them. Lines along `dim` are independent of each other: one thread walks each, from one end to the other.
template <class Element>
void walk(const Tensor& x, int64_t dim, const Tensor& index, Layout other, bool backwards, Element element) {
  if (index.numel() == 0) return;
  const int64_t length = size_along(index.shape(), dim), stride = stride_along(x.layout(), dim);
  const int64_t index_step = stride_along(index.layout(), dim), other_step = stride_along(other, dim);
  Layout place(index.shape(), x.strides()), from = index.layout();
  for (Layout* layout : {&place, &from, &other}) layout->shape = with_size(layout->shape, dim, 1);
  const IteratePlan plan = make_plan(place.shape, {&place, &from, &other});
  const int64_t* positions = index.data<int64_t>();
  parallel_for(plan.numel, std::max<int64_t>(iterate_block / length, 1), [&](int64_t begin, int64_t end) {
    visit_rows(plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      const auto visit = [&](int64_t i, int64_t step) {
        const int64_t j = backwards ? length - 1 - step : step;
        const int64_t position = positions[offsets[1] + i * strides[1] + j * index_step];
        element(offsets[0] + i * strides[0] + position * stride,
                offsets[2] + i * strides[2] + j * other_step);
      };
      if (index_step == 1) {  // lines are runs in memory: one after another, else side by side
        for (int64_t i = 0; i < count; ++i)
          for (int64_t step = 0; step < length; ++step) visit(i, step);
      } else {
        for (int64_t step = 0; step < length; ++step)
          for (int64_t i = 0; i < count; ++i) visit(i, step);
      }
    });
  });
}

// dst has the index's dimensions, and both have been checked.
void add_at(const Tensor& dst, int64_t dim, const Tensor& index, const Tensor& src) {
  dispatch_addends(dst.dtype(), "scatter_add", [&]<class T>() {
    T* to = dst.data<T>();
    const T* from = src.data<T>();
    walk(dst, dim, index, src.layout(), false,
         [=](int64_t place, int64_t source) { to[place] = math::sum(to[place], from[source]); });
  });
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = normalize_dim(dim, x.dim(), "gather");
  const Tensor positions = checked_index(x, dim, index, "gather");
  Tensor y = empty(index.shape(), x.dtype(), x.device());
  Layout base(index.shape(), x.strides());
  if (x.dim() > 0) base.strides[dim] = 0;
  const int64_t stride = stride_along(x.layout(), dim);
  const IteratePlan plan = make_plan(y.shape(), {&y.layout(), &positions.layout(), &base});
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    const int64_t* at = positions.data<int64_t>();
    T* to = y.data<T>();
    for_each_row(plan, [=](const int64_t* offsets, int64_t count, const int64_t* strides) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t position = at[offsets[1] + i * strides[1]];
        to[offsets[0] + i * strides[0]] = from[offsets[2] + i * strides[2] + position * stride];
      }
    });
  });
  return y;
}

Tensor gather_backward(const Tensor& dy, const Shape& shape, int64_t dim, const Tensor& index) {
  const DType wide = computing_dtype(dy.dtype());
  const Tensor dx = empty(shape, wide, dy.device());
  dim = normalize_dim(dim, dx.dim(), "gather_backward");
  const Tensor positions = checked_index(dx, dim, index, "gather_backward");
  zero(dx);
  add_at(dx, dim, positions, to(dy, wide));
  return to(dx, dy.dtype());
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = normalize_dim(dim, x.dim(), "scatter");
  const Tensor source = checked_source(x, index, src, "scatter");
  const Tensor positions = checked_index(x, dim, index, "scatter");
  const Tensor y = clone(x);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = y.data<T>();
    const T* from = source.data<T>();
    walk(y, dim, positions, source.layout(), false, [=](int64_t place, int64_t at) { to[place] = from[at]; });
  });
  return y;
}

// From the last place to the first: who comes first takes the gradient, and leaves 0 to the others and to x.
ScatterGradients scatter_backward(const Tensor& dy, int64_t dim, const Tensor& index) {
  dim = normalize_dim(dim, dy.dim(), "scatter_backward");
  const Tensor positions = checked_index(dy, dim, index, "scatter_backward");
  ScatterGradients gradients{clone(dy), empty(index.shape(), dy.dtype(), dy.device())};
  dispatch(dy.dtype(), [&]<class T>() {
    T* left = gradients.dx.data<T>();
    T* taken = gradients.dsrc.data<T>();
    walk(gradients.dx, dim, positions, gradients.dsrc.layout(), true, [=](int64_t place, int64_t at) {
      taken[at] = left[place];
      left[place] = T();
    });
  });
  return gradients;
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = normalize_dim(dim, x.dim(), "scatter_add");
  check(x.dtype() != boolean, "scatter_add: bool cannot be added");
  const Tensor source = checked_source(x, index, src, "scatter_add");
  const Tensor positions = checked_index(x, dim, index, "scatter_add");
  const DType wide = computing_dtype(x.dtype());
  const Tensor y = wide == x.dtype() ? clone(x) : to(x, wide);
  add_at(y, dim, positions, to(source, wide));
  return to(y, x.dtype());
}

}  // namespace tern::kernels
