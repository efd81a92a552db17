#include <tern/kernels/gather.h>

#include <tern/kernels/addends.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/lines.h>
#include <tern/kernels/positions.h>
#include <tern/kernels/scalar_math.h>

#include <atomic>

namespace tern::kernels {
namespace {

int64_t stride_along(const Layout& x, int64_t dim) { return x.dim() ? x.strides[dim] : 0; }

// Its positions are checked where they are used, which saves reading them twice.
Tensor dense_index(const Tensor& x, int64_t dim, const Tensor& index, const char* operation) {
  check_same_device(x, index, operation);
  check(index.dim() == x.dim(), operation, ": index must have ", x.dim(), " dimensions, got ", index.shape());
  for (int64_t i = 0; i < x.dim(); ++i) {
    check(i == dim || index.shape()[i] <= x.shape()[i], operation, ": index ", index.shape(),
          " is larger than ", x.shape(), " in dimension ", i);
  }
  return dense_positions(index, operation);
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
// Throws for a position outside x, after others have been walked.
template <class Element>
void walk(const char* operation, const Tensor& x, int64_t dim, const Tensor& index, Layout other,
          bool backwards, Element element) {
  if (index.numel() == 0) return;
  const int64_t length = size_along(index.shape(), dim), stride = stride_along(x.layout(), dim);
  int64_t index_step = stride_along(index.layout(), dim), other_step = stride_along(other, dim);
  Layout place(index.shape(), x.strides()), from = index.layout();
  for (Layout* layout : {&place, &from, &other}) layout->shape = with_size(layout->shape, dim, 1);
  const IteratePlan plan = make_plan(place.shape, {&place, &from, &other});
  const int64_t size = size_along(x.shape(), dim);
  const bool are_runs = index_step == 1;  // lines in memory: one after another, else side by side
  const int64_t* positions = index.data<int64_t>();
  int64_t first = 0;
  if (backwards) {
    positions += (length - 1) * index_step, first = (length - 1) * other_step;
    index_step = -index_step, other_step = -other_step;
  }
  std::atomic<bool> all_inside = true;
  parallel_for(plan.numel, std::max<int64_t>(iterate_block / length, 1), [&](int64_t begin, int64_t end) {
    bool any_outside = false;
    // From the positions `at` on, for elements whose lines start at `start` in x.
    const auto run = [&](int64_t count, int64_t start, int64_t start_step, const int64_t* at, int64_t at_step,
                         int64_t to, int64_t to_step) {
      for (int64_t i = 0; i < count; ++i, start += start_step, at += at_step, to += to_step) {
        if (is_outside(*at, size))
          any_outside = true;
        else
          element(start + *at * stride, to);
      }
    };
    visit_rows(plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      const int64_t start = offsets[0], to = offsets[2] + first;
      const int64_t* at = positions + offsets[1];
      for (int64_t i = 0; are_runs && i < count; ++i)
        run(length, start + i * strides[0], 0, at + i * strides[1], index_step, to + i * strides[2],
            other_step);
      for (int64_t j = 0; !are_runs && j < length; ++j)
        run(count, start, strides[0], at + j * index_step, strides[1], to + j * other_step, strides[2]);
    });
    if (any_outside) all_inside = false;
  });
  if (!all_inside) check_positions(index, size, operation);
}

// dst has the index's dimensions, and both have been checked.
void add_at(const char* operation, const Tensor& dst, int64_t dim, const Tensor& index, const Tensor& src) {
  dispatch_addends(dst.dtype(), operation, [&]<class T>() {
    T* to = dst.data<T>();
    const T* from = src.data<T>();
    walk(operation, dst, dim, index, src.layout(), false,
         [=](int64_t place, int64_t source) { to[place] = math::sum(to[place], from[source]); });
  });
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = normalize_dim(dim, x.dim(), "gather");
  const Tensor positions = dense_index(x, dim, index, "gather");
  Tensor y = empty(index.shape(), x.dtype(), x.device());
  Layout base(index.shape(), x.strides());
  if (x.dim() > 0) base.strides[dim] = 0;
  const int64_t stride = stride_along(x.layout(), dim), size = size_along(x.shape(), dim);
  std::atomic<bool> all_inside = true;
  const IteratePlan plan = make_plan(y.shape(), {&y.layout(), &positions.layout(), &base});
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    const int64_t* at = positions.data<int64_t>();
    T* to = y.data<T>();
    for_each_row(plan, [=, &all_inside](const int64_t* offsets, int64_t count, const int64_t* strides) {
      // y and the positions are dense in the same order.
      const int64_t* position = at + offsets[1];
      T* element = to + offsets[0];
      bool any_outside = false;
      const auto take = [&](int64_t step, int64_t distance) {
        for (int64_t i = 0; i < count; ++i) {
          if (is_outside(position[i], size))
            any_outside = true;
          else
            element[i] = from[offsets[2] + i * step + position[i] * distance];
        }
      };
      if (strides[2] == 0 && stride == 1)
        take(0, 1);
      else
        take(strides[2], stride);
      if (any_outside) all_inside = false;
    });
  });
  if (!all_inside) check_positions(positions, size, "gather");
  return y;
}

Tensor gather_backward(const Tensor& dy, const Shape& shape, int64_t dim, const Tensor& index) {
  const DType wide = computing_dtype(dy.dtype());
  const Tensor dx = empty(shape, wide, dy.device());
  dim = normalize_dim(dim, dx.dim(), "gather_backward");
  const Tensor positions = dense_index(dx, dim, index, "gather_backward");
  zero(dx);
  add_at("gather_backward", dx, dim, positions, to(dy, wide));
  return to(dx, dy.dtype());
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = normalize_dim(dim, x.dim(), "scatter");
  const Tensor source = checked_source(x, index, src, "scatter");
  const Tensor positions = dense_index(x, dim, index, "scatter");
  const Tensor y = clone(x);
  dispatch(x.dtype(), [&]<class T>() {
    T* to = y.data<T>();
    const T* from = source.data<T>();
    walk("scatter", y, dim, positions, source.layout(), false,
         [=](int64_t place, int64_t at) { to[place] = from[at]; });
  });
  return y;
}

// From the last place to the first: who comes first takes the gradient, and leaves 0 to the others and to x.
ScatterGradients scatter_backward(const Tensor& dy, int64_t dim, const Tensor& index) {
  dim = normalize_dim(dim, dy.dim(), "scatter_backward");
  const Tensor positions = dense_index(dy, dim, index, "scatter_backward");
  ScatterGradients gradients{clone(dy), empty(index.shape(), dy.dtype(), dy.device())};
  dispatch(dy.dtype(), [&]<class T>() {
    T* left = gradients.dx.data<T>();
    T* taken = gradients.dsrc.data<T>();
    walk("scatter_backward", gradients.dx, dim, positions, gradients.dsrc.layout(), true,
         [=](int64_t place, int64_t at) {
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
  const Tensor positions = dense_index(x, dim, index, "scatter_add");
  const DType wide = computing_dtype(x.dtype());
  const Tensor y = wide == x.dtype() ? clone(x) : to(x, wide);
  add_at("scatter_add", y, dim, positions, to(source, wide));
  return to(y, x.dtype());
}

}  // namespace tern::kernels
