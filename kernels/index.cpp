#include <tern/kernels/index.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/addends.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/lines.h>
#include <tern/kernels/positions.h>
#include <tern/kernels/scalar_math.h>

#include <algorithm>
#include <cstring>

namespace tern::kernels {
namespace {

// Rows of `bytes` that one thread copies at a time.
int64_t rows_per_block(int64_t bytes) { return std::max<int64_t>(1, 65536 / std::max<int64_t>(bytes, 1)); }

// Elements of a slice that one thread adds: where there are few slices, several share each.
constexpr int64_t add_block = 128;

template <class T>
void add_slices(const Lines& to, const Lines& from, const int64_t* at, const T* read, T* write) {
  const int64_t parts = (to.inner + add_block - 1) / add_block;
  const int64_t together = std::max<int64_t>(1, 65536 / (from.size * std::min(to.inner, add_block)));
  parallel_for(to.outer * parts, together, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t outer = unit / parts, first = unit % parts * add_block;
      const int64_t count = std::min(add_block, to.inner - first);
      for (int64_t i = 0; i < from.size; ++i) {
        const T* value = read + (outer * from.size + i) * to.inner + first;
        T* place = write + (outer * to.size + at[i]) * to.inner + first;
        for (int64_t k = 0; k < count; ++k) place[k] = math::sum(place[k], value[k]);
      }
    }
  });
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index, const char* operation) {
  check_same_device(x, index, operation);
  check(x.dim() >= 1 && index.dim() == 1, operation, ": needs a tensor with dimensions and a 1-d index, got ",
        x.shape(), " and ", index.shape());
  dim = normalize_dim(dim, x.dim(), operation);
  const Tensor positions = checked_positions(index, x.size(dim), operation), source = contiguous(x);
  Tensor y = empty(with_size(x.shape(), dim, index.numel()), x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const Lines from(x.shape(), dim), to(y.shape(), dim);
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
  const Tensor positions = checked_positions(index, dst.size(dim), "index_add");
  if (src.numel() == 0) return;
  const DType wide = computing_dtype(dst.dtype());
  const Tensor added = contiguous(to(src, wide));
  // Works on a dense copy where dst is not contiguous or of a half type itself, and copies back.
  const Tensor target = contiguous(to(dst, wide));
  dispatch_addends(wide, "index_add", [&]<class T>() {
    add_slices(Lines(dst.shape(), dim), Lines(src.shape(), dim), positions.data<int64_t>(), added.data<T>(),
               target.data<T>());
  });
  if (target.is_same(dst))
    dst.bump_version();
  else
    copy(target, dst);
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
  const Tensor positions = checked_positions(index, classes, "one_hot");
  Shape shape = index.shape();
  shape.push_back(classes);
  Tensor y = empty(shape, int64, index.device());
  zero(y);
  for (int64_t i = 0; i < positions.numel(); ++i)
    y.data<int64_t>()[i * classes + positions.data<int64_t>()[i]] = 1;
  return y;
}

}  // namespace tern::kernels
