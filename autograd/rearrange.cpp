#include <tern/autograd/rearrange.h>

#include <tern/autograd/record.h>
#include <tern/autograd/views.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/rearrange.h>
#include <tern/kernels/reduce.h>

#include <algorithm>
#include <span>

namespace tern {
namespace {

Tensor stack_span(std::span<const Tensor> tensors, int64_t dim) {
  const OperationScope scope("stack");
  check(!tensors.empty(), "stack: needs at least one tensor");
  dim = normalize_dim(dim, tensors[0].dim() + 1, "stack");
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) {
    check(x.shape() == tensors[0].shape(), "stack: shapes ", tensors[0].shape(), " and ", x.shape(),
          " differ");
    parts.push_back(unsqueeze(x, dim));
  }
  return cat(parts, dim);
}

int64_t checked_dim(const Tensor& x, int64_t dim, const char* operation) {
  check(x.dim() > 0, operation, ": needs a tensor with dimensions");
  return normalize_dim(dim, x.dim(), operation);
}

std::vector<Tensor> split_evenly(const Tensor& x, int64_t size, int64_t dim) {
  const int64_t total = x.shape()[dim];
  std::vector<Tensor> parts;
  int64_t start = 0;
  do {
    const int64_t count = std::min(size, total - start);
    parts.push_back(narrow(x, dim, start, count));
    start += count;
  } while (start < total);
  return parts;
}

std::vector<Tensor> split_span(const Tensor& x, std::span<const int64_t> sizes, int64_t dim) {
  const OperationScope scope("split");
  dim = checked_dim(x, dim, "split");
  int64_t rest = x.shape()[dim];
  for (const int64_t size : sizes) {
    check(size >= 0 && size <= rest, "split: the sizes must add up to ", x.shape()[dim],
          ", that of dimension ", dim, " of ", x.shape(), ", got ", size, " where ", rest, " are left");
    rest -= size;
  }
  check(rest == 0, "split: the sizes leave ", rest, " elements of dimension ", dim, " of ", x.shape());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    parts.push_back(narrow(x, dim, start, size));
    start += size;
  }
  return parts;
}

// [outer, inner] becoming [outer, times, inner].
struct Repetition {
  int64_t outer, times, inner;
};
using Repetitions = InlineVector<Repetition, 4>;

int64_t product(const Shape& shape, int64_t begin, int64_t end) {
  return Shape(std::span(shape.begin() + begin, shape.begin() + end)).numel();
}

int64_t multiplied(int64_t size, int64_t times, const char* operation) {
  int64_t result = 0;
  check(times >= 0 && !__builtin_mul_overflow(size, times, &result), operation, ": cannot repeat ", size,
        " elements ", times, " times");
  return result;
}

// dx = dy summed over the repetitions, half types in float32.
Tensor repeated(const char* operation, const Tensor& x, const Repetitions& repetitions, const Shape& shape) {
  (void)shape.numel();  // throws where it is too large
  Tensor y = x;
  for (const Repetition& r : repetitions) y = kernels::repeat_slices(y, r.outer, r.times, r.inner);
  return record(operation, y.with_layout(Layout(shape)), {x},
                [repetitions, shape = x.shape()](const Tensor& dy) -> Gradients {
                  const DType dtype = dy.dtype();
                  const DType wide = computing_dtype(dtype);
                  Tensor dx = kernels::to(kernels::contiguous(dy), wide);
                  for (size_t i = repetitions.size(); i-- > 0;) {
                    const Repetition& r = repetitions[i];
                    const Shape full{r.outer, r.times, r.inner};
                    const Layout layout(full, dense_strides(full), dx.layout().offset);
                    dx = kernels::contiguous(kernels::sum(dx.with_layout(layout), {1}));
                  }
                  const Layout layout(shape, dense_strides(shape), dx.layout().offset);
                  return {kernels::to(dx.with_layout(layout), dtype)};
                });
}

Tensor triangle(const char* operation, const Tensor& x, int64_t diagonal, bool upper) {
  const OperationScope scope(operation);
  return record(operation, kernels::triangle(x, diagonal, upper), {x},
                [=](const Tensor& dy) -> Gradients { return {kernels::triangle(dy, diagonal, upper)}; });
}

}  // namespace

Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim) {
  return stack_span({tensors.begin(), tensors.size()}, dim);
}
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) { return stack_span(tensors, dim); }

std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim) {
  const OperationScope scope("split");
  dim = checked_dim(x, dim, "split");
  check(split_size > 0 || (split_size == 0 && x.shape()[dim] == 0), "split: split_size must be above 0, got ",
        split_size);
  return split_evenly(x, split_size, dim);
}

std::vector<Tensor> split(const Tensor& x, std::initializer_list<int64_t> split_sizes, int64_t dim) {
  return split_span(x, {split_sizes.begin(), split_sizes.size()}, dim);
}
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& split_sizes, int64_t dim) {
  return split_span(x, split_sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  const OperationScope scope("chunk");
  dim = checked_dim(x, dim, "chunk");
  check(chunks > 0, "chunk: chunks must be above 0, got ", chunks);
  const int64_t size = x.shape()[dim];
  return split_evenly(x, size / chunks + (size % chunks != 0), dim);
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  const OperationScope scope("unbind");
  dim = checked_dim(x, dim, "unbind");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.shape()[dim]; ++i) parts.push_back(select(x, dim, i));
  return parts;
}

Tensor movedim(const Tensor& x, int64_t source, int64_t destination) {
  source = normalize_dim(source, x.dim(), "movedim");
  destination = normalize_dim(destination, x.dim(), "movedim");
  Shape dims;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != source) dims.push_back(i);
  }
  if (x.dim() > 0) dims.insert(destination, source);
  return permute(x, dims);
}

Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) { return transpose(x, axis0, axis1); }

// dx = dy moved the other way.
Tensor flip(const Tensor& x, const Shape& dims) {
  const OperationScope scope("flip");
  return record("flip", kernels::flip(x, dims), {x},
                [dims](const Tensor& dy) -> Gradients { return {kernels::flip(dy, dims)}; });
}

Tensor roll(const Tensor& x, const Shape& shifts, const Shape& dims) {
  const OperationScope scope("roll");
  return record("roll", kernels::roll(x, shifts, dims), {x}, [shifts, dims](const Tensor& dy) -> Gradients {
    return {kernels::roll(dy, shifts, dims, true)};
  });
}

Tensor repeat(const Tensor& x, const Shape& sizes) {
  const OperationScope scope("repeat");
  const int lead = sizes.dim() - static_cast<int>(x.dim());
  check(lead >= 0, "repeat: needs a size for each dimension of ", x.shape(), ", got ", sizes);
  Shape shape = Shape::filled(sizes.dim(), 1);
  std::copy(x.shape().begin(), x.shape().end(), shape.begin() + lead);
  Repetitions repetitions;
  for (int d = sizes.dim() - 1; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    const int64_t size = multiplied(shape[d], sizes[d], "repeat");
    repetitions.push_back({product(shape, 0, d), sizes[d], product(shape, d, shape.dim())});
    shape[d] = size;
  }
  if (repetitions.empty()) repetitions.push_back({1, 1, x.numel()});
  return repeated("repeat", x, repetitions, shape);
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim) {
  if (!dim) return repeat_interleave(reshape(x, {-1}), repeats, 0);
  const OperationScope scope("repeat_interleave");
  const int64_t d = checked_dim(x, *dim, "repeat_interleave");
  Shape shape = x.shape();
  const Repetition one{product(shape, 0, d + 1), repeats, product(shape, d + 1, shape.dim())};
  shape[d] = multiplied(shape[d], repeats, "repeat_interleave");
  return repeated("repeat_interleave", x, {one}, shape);
}

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, diagonal, false); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, diagonal, true); }

// dx = dy at the elements, plus dy at what they were repeated to.
Tensor pad(const Tensor& x, const std::vector<int64_t>& padding, PadMode mode, Scalar value) {
  const OperationScope scope("pad");
  return record("pad", kernels::pad(x, padding, mode, value), {x},
                [padding, mode, shape = x.shape()](const Tensor& dy) -> Gradients {
                  return {kernels::pad_backward(dy, shape, padding, mode)};
                });
}

}  // namespace tern
