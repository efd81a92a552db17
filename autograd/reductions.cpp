#include <tern/autograd/reductions.h>

#include <tern/autograd/record.h>
#include <tern/autograd/views.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/gather.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/scan.h>

#include <algorithm>

namespace tern {
namespace {

// dy of a reduction, repeated over the reduced dimensions: a view.
Tensor spread(const Tensor& dy, const Shape& kept, const Shape& shape) {
  const Tensor dense = kernels::contiguous(dy);
  return dense.with_layout(Layout(kept, dense_strides(kept), dense.layout().offset).expand(shape));
}

// max() and min() along a dimension: dy goes to the places that `indices` names.
Tensor record_chosen(const char* operation, const Tensor& x, int64_t dim, bool keepdim,
                     const ValuesAndIndices& chosen) {
  dim = normalize_dim(dim, x.dim(), operation);
  return record(operation, chosen.values, {x},
                [shape = x.shape(), dim, unsqueeze = !keepdim && x.dim() > 0,
                 indices = SavedTensor(chosen.indices)](const Tensor& dy) -> Gradients {
                  const auto kept = [&](const Tensor& t) {
                    return unsqueeze ? t.with_layout(t.layout().unsqueeze(dim)) : t;
                  };
                  return {kernels::gather_backward(kept(dy), shape, dim, kept(indices.get()))};
                });
}

}  // namespace

Tensor sum(const Tensor& x, const Shape& dims, bool keepdim) {
  const OperationScope scope("sum");
  Tensor y = kernels::sum(x, dims, keepdim);
  return record("sum", y, {x},
                [kept = kernels::reduced_shape(x.shape(), dims, true, "sum"),
                 shape = x.shape()](const Tensor& dy) -> Gradients { return {spread(dy, kept, shape)}; });
}

Tensor mean(const Tensor& x, const Shape& dims, bool keepdim) {
  const OperationScope scope("mean");
  Tensor y = kernels::mean(x, dims, keepdim);
  const double count = static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(y.numel(), 1));
  return record("mean", y, {x},
                [kept = kernels::reduced_shape(x.shape(), dims, true, "mean"), shape = x.shape(),
                 count](const Tensor& dy) -> Gradients {
                  return {spread(kernels::div(dy, kernels::scalar_like(count, dy)), kept, shape)};
                });
}

// dx = dy times the product of the other elements.
Tensor prod(const Tensor& x, const Shape& dims, bool keepdim) {
  const OperationScope scope("prod");
  return record("prod", kernels::prod(x, dims, keepdim), {x},
                [dims, kept = kernels::reduced_shape(x.shape(), dims, true, "prod"),
                 x = SavedTensor(x)](const Tensor& dy) -> Gradients {
                  const Tensor upstream = spread(kernels::to(dy, float64), kept, x.get().shape());
                  const Tensor dx = kernels::mul(kernels::products_of_others(x.get(), dims), upstream);
                  return {kernels::to(dx, dy.dtype())};
                });
}

ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim) {
  const OperationScope scope("max");
  const ValuesAndIndices chosen = kernels::max_with_indices(x, dim, keepdim);
  return {record_chosen("max", x, dim, keepdim, chosen), chosen.indices};
}

ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim) {
  const OperationScope scope("min");
  const ValuesAndIndices chosen = kernels::min_with_indices(x, dim, keepdim);
  return {record_chosen("min", x, dim, keepdim, chosen), chosen.indices};
}

Tensor max(const Tensor& x) { return max(reshape(x, {-1}), 0).values; }
Tensor min(const Tensor& x) { return min(reshape(x, {-1}), 0).values; }

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const OperationScope scope("argmax");
  return kernels::argmax(x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const OperationScope scope("argmin");
  return kernels::argmin(x, dim, keepdim);
}
Tensor any(const Tensor& x, const Shape& dims, bool keepdim) {
  const OperationScope scope("any");
  return kernels::any(x, dims, keepdim);
}
Tensor all(const Tensor& x, const Shape& dims, bool keepdim) {
  const OperationScope scope("all");
  return kernels::all(x, dims, keepdim);
}

}  // namespace tern
