#include <tern/kernels/index.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/scalar_math.h>

#include <algorithm>
#include <cstring>

namespace tern::kernels {
namespace {

// All positions, dense, after checking that each lies in [0, size).
Tensor checked_index(const Tensor& index, int64_t size, const char* operation) {
  check(index.dtype() == int64, operation, ": index must be int64, got ", index.dtype());
  const Tensor dense = contiguous(index);
  const int64_t* positions = dense.data<int64_t>();
  for (int64_t i = 0; i < dense.numel(); ++i) {
    check(positions[i] >= 0 && positions[i] < size, operation, ": index ", positions[i], " at position ", i,
          " is outside a dimension of size ", size);
  }
  return dense;
}

// A contiguous tensor as [outer, size, inner] around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;
  Around(const Shape& shape, int64_t dim) {
    for (int i = 0; i < shape.dim(); ++i) (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }
};

// Rows of `bytes` that one thread copies at a time.
int64_t rows_per_block(int64_t bytes) { return std::max<int64_t>(1, 65536 / std::max<int64_t>(bytes, 1)); }

Shape with_size(Shape shape, int64_t dim, int64_t size) {
  shape[dim] = size;
  return shape;
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  check_same_device(x, index, "index_select");
  check(x.dim() >= 1 && index.dim() == 1,
        "index_select: needs a tensor with dimensions and a 1-d index, got ", x.shape(), " and ",
        index.shape());
  dim = normalize_dim(dim, x.dim(), "index_select");
  const Tensor positions = checked_index(index, x.size(dim), "index_select"), source = contiguous(x);
  Tensor y = empty(with_size(x.shape(), dim, index.numel()), x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const Around from(x.shape(), dim), to(y.shape(), dim);
  const int64_t bytes = from.inner * static_cast<int64_t>(size_of(x.dtype()));
  const int64_t* at = positions.data<int64_t>();
  const char* read = static_cast<const char*>(source.data());
  char* write = static_cast<char*>(y.data());
  parallel_for(to.outer * to.size, rows_per_block(bytes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t source_row = row / to.size * from.size + at[row % to.size];
      std::memcpy(write + row * bytes, read + source_row * bytes, static_cast<size_t>(bytes));
    }
  });
  return y;
}

void index_add(const Tensor& dst, int64_t dim, const Tensor& index, const Tensor& src) {
  check_same_device(dst, index, "index_add");
  check_same_device(dst, src, "index_add");
  check_same_dtype(dst, src, "index_add");
  check(dst.dtype() != boolean, "index_add: bool cannot be added");
  check_no_overlap(dst, "index_add");
  check(dst.dim() >= 1 && index.dim() == 1, "index_add: needs a tensor with dimensions and a 1-d index, got ",
        dst.shape(), " and ", index.shape());
  dim = normalize_dim(dim, dst.dim(), "index_add");
  check(src.shape() == with_size(dst.shape(), dim, index.numel()), "index_add: src must be ",
        with_size(dst.shape(), dim, index.numel()), ", got ", src.shape());
  const Tensor positions = checked_index(index, dst.size(dim), "index_add"), added = contiguous(src);
  // Works on a dense copy where dst is not contiguous itself, and copies back.
  const Tensor target = contiguous(dst);
  const Around to(dst.shape(), dim), from(src.shape(), dim);
  const int64_t* at = positions.data<int64_t>();
  dispatch(dst.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
      const T* read = added.data<T>();
      T* write = target.data<T>();
      parallel_for(to.outer, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin * from.size; row < end * from.size; ++row) {
          T* place = write + (row / from.size * to.size + at[row % from.size]) * to.inner;
          const T* value = read + row * to.inner;
          for (int64_t i = 0; i < to.inner; ++i) {
            place[i] = static_cast<T>(math::sum(static_cast<Wide>(place[i]), static_cast<Wide>(value[i])));
          }
        }
      });
    }
  });
  if (!target.is_same(dst)) copy(target, dst);
}

Tensor cat(std::span<const Tensor> tensors, int64_t dim) {
  check(!tensors.empty(), "cat: needs at least one tensor");
  const Tensor& first = tensors[0];
  check(first.dim() >= 1, "cat: a tensor without dimensions cannot be joined");
  dim = normalize_dim(dim, first.dim(), "cat");
  Shape shape = first.shape();
  shape[dim] = 0;
  bool channels_last = true, contiguous_too = true;
  for (const Tensor& x : tensors) {
    check_same_device(first, x, "cat");
    check_same_dtype(first, x, "cat");
    check(x.dim() == first.dim() && with_size(x.shape(), dim, 0) == with_size(first.shape(), dim, 0),
          "cat: shapes ", first.shape(), " and ", x.shape(), " differ outside dimension ", dim);
    check(!__builtin_add_overflow(shape[dim], x.shape()[dim], &shape[dim]), "cat: the sizes along dimension ",
          dim, " add up to more than 2^63 - 1");
    channels_last = channels_last && x.is_channels_last();
    contiguous_too = contiguous_too && x.is_contiguous();
  }
  const bool nhwc = channels_last && !contiguous_too;
  Tensor y = empty(shape, first.dtype(), first.device(),
                   nhwc ? MemoryFormat::channels_last : MemoryFormat::contiguous);
  int64_t start = 0;
  for (const Tensor& x : tensors) {
    const int64_t size = x.shape()[dim];
    if (x.numel() > 0) copy(x, y.with_layout(y.layout().slice(dim, start, start + size, 1)));
    start += size;
  }
  return y;
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  check(classes >= 0, "one_hot: classes must not be negative, got ", classes);
  check_device_kernels(index.device(), "one_hot");
  const Tensor positions = checked_index(index, classes, "one_hot");
  Shape shape = index.shape();
  shape.push_back(classes);
  Tensor y = empty(shape, int64, index.device());
  zero(y);
  for (int64_t i = 0; i < positions.numel(); ++i)
    y.data<int64_t>()[i * classes + positions.data<int64_t>()[i]] = 1;
  return y;
}

}  // namespace tern::kernels
