#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/reduce.h>

#include <atomic>

namespace tern::kernels {
namespace {

template <class T>
bool matches(T x, T extreme) {
  if constexpr (!std::is_arithmetic_v<T>)
    return matches(static_cast<float>(x), static_cast<float>(extreme));
  else
    return x == extreme || (x != x && extreme != extreme);
}

template <class T>
int64_t find_first(const T* x, int64_t stride, int64_t begin, int64_t end, T extreme) {
  while (begin < end && !matches(x[begin * stride], extreme)) ++begin;
  return begin;
}

// The first place of `extreme` among all elements. Chunks are searched at the same time; the smallest wins.
template <class T>
int64_t find_in_all(const T* x, int64_t count, T extreme) {
  std::atomic<int64_t> found = count;
  parallel_for(count, 4 * iterate_block, [&](int64_t begin, int64_t end) {
    if (begin >= found.load(std::memory_order_relaxed)) return;
    const int64_t place = find_first(x, 1, begin, end, extreme);
    int64_t best = found.load(std::memory_order_relaxed);
    while (place < end && place < best && !found.compare_exchange_weak(best, place)) {
    }
  });
  return found.load();
}

struct Search {
  int64_t count, stride;  // of the reduced dimension
};

// Outputs side by side, rows from the last to the first: the first match is written last.
template <class T>
void find_columns(const Search& search, const T* x, const T* extremes, int64_t* indices, int64_t columns) {
  for (int64_t r = search.count - 1; r >= 0; --r) {
    const T* row = x + r * search.stride;
    for (int64_t j = 0; j < columns; ++j) indices[j] = matches(row[j], extremes[j]) ? r : indices[j];
  }
}

// Operands of the plan: indices, extremes, and x without the reduced dimension.
template <class T>
void find_along(const Search& search, const IteratePlan& plan, int64_t* indices, const T* extremes,
                const T* x) {
  const int64_t block = std::max<int64_t>(4 * iterate_block / search.count, 256);
  parallel_for(plan.numel, block, [&](int64_t begin, int64_t end) {
    visit_rows(plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      const bool dense = strides[0] == 1 && strides[1] == 1 && strides[2] == 1 && search.stride != 1;
      if (dense)
        return find_columns(search, x + offsets[2], extremes + offsets[1], indices + offsets[0], count);
      for (int64_t i = 0; i < count; ++i) {
        indices[offsets[0] + i * strides[0]] =
            find_first(x + offsets[2] + i * strides[2], search.stride, 0, search.count,
                       extremes[offsets[1] + i * strides[1]]);
      }
    });
  });
}

// Where along `dim` x first has the values that reducing it kept (with size 1).
Tensor find_indices(const Tensor& x, const Tensor& extremes, int64_t dim) {
  const Tensor indices = empty_strided(extremes.shape(), extremes.strides(), int64, x.device());
  if (indices.numel() == 0) return indices;
  Layout rest = x.layout();
  rest.shape[dim] = 1;
  const IteratePlan plan = make_plan(rest.shape, {&indices.layout(), &extremes.layout(), &rest});
  dispatch(x.dtype(), [&]<class T>() {
    find_along(Search{x.size(dim), x.stride(dim)}, plan, indices.data<int64_t>(), extremes.data<T>(),
               x.data<T>());
  });
  return indices;
}

using Reduce = Tensor (*)(const Tensor&, const Shape&, bool);

ValuesAndIndices with_indices(Reduce reduce, const Tensor& x, int64_t dim, bool keepdim,
                              const char* operation) {
  dim = normalize_dim(dim, x.dim(), operation);
  if (x.dim() == 0) {
    const Tensor index = empty({}, int64, x.device());
    *index.data<int64_t>() = 0;
    return {clone(x), index};
  }
  check(x.size(dim) > 0, operation, ": dimension ", dim, " of shape ", x.shape(), " is empty");
  const Tensor values = reduce(x, {dim}, true);
  const Tensor indices = find_indices(x, values, dim);
  if (keepdim) return {values, indices};
  return {values.with_layout(values.layout().squeeze(dim)),
          indices.with_layout(indices.layout().squeeze(dim))};
}

Tensor find_arg(Reduce reduce, const Tensor& x, std::optional<int64_t> dim, bool keepdim,
                const char* operation) {
  check_device_kernels(x.device(), operation);
  if (dim) return with_indices(reduce, x, *dim, keepdim, operation).indices;
  check(x.numel() > 0, operation, ": the tensor of shape ", x.shape(), " is empty");
  const Tensor flat = contiguous(x), extreme = reduce(flat, {}, false);
  const Tensor index =
      empty(keepdim ? Shape::filled(static_cast<int>(x.dim()), 1) : Shape{}, int64, x.device());
  dispatch(x.dtype(), [&]<class T>() {
    *index.data<int64_t>() = find_in_all(flat.data<T>(), flat.numel(), *extreme.data<T>());
  });
  return index;
}

}  // namespace

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return find_arg(max, x, dim, keepdim, "argmax");
}

Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return find_arg(min, x, dim, keepdim, "argmin");
}

ValuesAndIndices max_with_indices(const Tensor& x, int64_t dim, bool keepdim) {
  check_device_kernels(x.device(), "max");
  return with_indices(max, x, dim, keepdim, "max");
}

ValuesAndIndices min_with_indices(const Tensor& x, int64_t dim, bool keepdim) {
  check_device_kernels(x.device(), "min");
  return with_indices(min, x, dim, keepdim, "min");
}

}  // namespace tern::kernels
