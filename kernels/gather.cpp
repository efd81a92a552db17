#include <tern/kernels/gather.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/iterate.h>

namespace tern::kernels {
namespace {

// x's layout over the positions of `index`, standing still along `dim`: where a position's row starts.
Layout along(const Tensor& x, int64_t dim, const Tensor& index, const char* operation) {
  check(index.dtype() == int64, operation, ": index must be int64, got ", index.dtype());
  check(index.dim() == x.dim(), operation, ": index must have ", x.dim(), " dimensions, got ", index.shape());
  Layout layout(index.shape(), x.strides());
  for (int64_t i = 0; i < x.dim(); ++i) {
    check(i == dim || index.shape()[i] <= x.shape()[i], operation, ": index ", index.shape(),
          " is larger than ", x.shape(), " in dimension ", i);
  }
  if (x.dim() > 0) layout.strides[dim] = 0;
  return layout;
}

int64_t checked(int64_t position, int64_t size, const char* operation) {
  check(position >= 0 && position < size, operation, ": index ", position, " is outside a dimension of size ",
        size);
  return position;
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  check_same_device(x, index, "gather");
  dim = normalize_dim(dim, x.dim(), "gather");
  const Layout base = along(x, dim, index, "gather");
  const int64_t size = x.dim() ? x.shape()[dim] : 1, stride = x.dim() ? x.strides()[dim] : 0;
  Tensor y = empty(index.shape(), x.dtype(), x.device());
  const IteratePlan plan = make_plan(y.shape(), {&y.layout(), &index.layout(), &base});
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    const int64_t* positions = index.data<int64_t>();
    T* to = y.data<T>();
    for_each_row(plan, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t position = checked(positions[offsets[1] + i * strides[1]], size, "gather");
        to[offsets[0] + i * strides[0]] = from[offsets[2] + i * strides[2] + position * stride];
      }
    });
  });
  return y;
}

void scatter_add(const Tensor& dst, int64_t dim, const Tensor& index, const Tensor& src) {
  check_same_device(dst, index, "scatter_add");
  check_same_device(dst, src, "scatter_add");
  check_same_dtype(dst, src, "scatter_add");
  check(dst.dtype() != boolean, "scatter_add: bool cannot be added");
  check_no_overlap(dst, "scatter_add");
  check(src.shape() == index.shape(), "scatter_add: src ", src.shape(), " and index ", index.shape(),
        " differ in shape");
  dim = normalize_dim(dim, dst.dim(), "scatter_add");
  const Layout base = along(dst, dim, index, "scatter_add");
  const int64_t size = dst.dim() ? dst.shape()[dim] : 1, stride = dst.dim() ? dst.strides()[dim] : 0;
  const IteratePlan plan = make_plan(src.shape(), {&index.layout(), &src.layout(), &base});
  dispatch(dst.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
      const int64_t* positions = index.data<int64_t>();
      const T* from = src.data<T>();
      T* to = dst.data<T>();
      visit_rows(plan, 0, plan.numel, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t position = checked(positions[offsets[0] + i * strides[0]], size, "scatter_add");
          T& place = to[offsets[2] + i * strides[2] + position * stride];
          const T added = from[offsets[1] + i * strides[1]];
          place = static_cast<T>(static_cast<Wide>(static_cast<Wide>(place) + static_cast<Wide>(added)));
        }
      });
    }
  });
}

}  // namespace tern::kernels
