#include <tern/autograd/indexing.h>

#include <tern/autograd/operand.h>
#include <tern/autograd/record.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/gather.h>
#include <tern/kernels/index.h>
#include <tern/kernels/nonzero.h>

#include <algorithm>
#include <limits>

namespace tern {
namespace {

// x, dense in row-major order, as one dimension.
Tensor flat(const Tensor& x) {
  const Tensor dense = kernels::contiguous(x);
  return dense.with_layout(*dense.layout().view({x.numel()}));
}

// The gradient of the part of src that an index of part's shape reaches, zero elsewhere.
Tensor padded(const Tensor& part, const Shape& shape) {
  if (part.shape() == shape) return part;
  Tensor whole = zeros(shape, part.dtype(), part.device());
  kernels::copy(part, whole.with_layout(Layout(part.shape(), whole.strides())));
  return whole;
}

// One more than the largest element.
int64_t count_of_values(const Tensor& x, const char* operation) {
  const auto largest = kernels::max(x).item<int64_t>();
  check(largest < std::numeric_limits<int64_t>::max(), operation, ": index ", largest, " is too large");
  return std::max<int64_t>(largest + 1, 1);
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  const OperationScope scope("gather");
  return record("gather", kernels::gather(x, dim, index), {x},
                [shape = x.shape(), dim, index = SavedTensor(index)](const Tensor& dy) -> Gradients {
                  return {kernels::gather_backward(dy, shape, dim, index.get())};
                });
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  const OperationScope scope("scatter");
  return record(
      "scatter", kernels::scatter(x, dim, index, src), {x, src},
      [dim, index = SavedTensor(index), shape = src.shape()](const Tensor& dy, Wants wants) -> Gradients {
        const auto [dx, dsrc] = kernels::scatter_backward(dy, dim, index.get());
        return {dx, wants[1] ? padded(dsrc, shape) : Tensor()};
      });
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
  const Tensor number = full({}, value, x.dtype(), x.device());
  return scatter(x, dim, index, number.with_layout(number.layout().expand(index.shape())));
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  const OperationScope scope("scatter_add");
  return record(
      "scatter_add", kernels::scatter_add(x, dim, index, src), {x, src},
      [dim, index = SavedTensor(index), shape = src.shape()](const Tensor& dy, Wants wants) -> Gradients {
        return {dy, wants[1] ? padded(kernels::gather(dy, dim, index.get()), shape) : Tensor()};
      });
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const OperationScope scope("index_add");
  const Tensor y = kernels::clone(x);
  kernels::index_add(y, dim, index, source);
  return record("index_add", y, {x, source},
                [dim, index = SavedTensor(index)](const Tensor& dy, Wants wants) -> Gradients {
                  return {dy, wants[1] ? kernels::index_select(dy, dim, index.get()) : Tensor()};
                });
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  const OperationScope scope("masked_select");
  check(mask.dtype() == boolean, "masked_select: the mask must be bool, got ", mask.dtype());
  const Shape shape = broadcast_shapes(x.shape(), mask.shape(), "masked_select");
  const Tensor places = kernels::nonzero_flat(mask.with_layout(mask.layout().expand(shape)));
  const Tensor values = flat(x.with_layout(x.layout().expand(shape)));
  return record("masked_select", kernels::gather(values, 0, places), {x},
                [operand = Operand(x), shape, places = SavedTensor(places)](const Tensor& dy) -> Gradients {
                  const Tensor dx = kernels::gather_backward(dy, {shape.numel()}, 0, places.get());
                  return {operand.gradient(dx.with_layout(*dx.layout().view(shape)))};
                });
}

Tensor nonzero(const Tensor& x) {
  const OperationScope scope("nonzero");
  return kernels::nonzero(x);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingOptions& options) {
  const OperationScope scope("embedding");
  check(weight.dim() == 2, "embedding: weight must be [V, D], got ", weight.shape());
  const int64_t rows = weight.size(0);
  std::optional<int64_t> padding = options.padding_idx;
  check(!padding || (*padding >= -rows && *padding < rows), "embedding: padding_idx must be from ", -rows,
        " to ", rows - 1, ", got ", padding.value_or(0));
  if (padding && *padding < 0) *padding += rows;
  Shape shape = input.shape();
  shape.push_back(weight.size(1));
  const Tensor index = flat(input), y = kernels::index_select(weight, 0, index, "embedding");
  return record("embedding", y.with_layout(Layout(shape)), {weight},
                [index = SavedTensor(index), whole = weight.shape(), padding](const Tensor& dy) -> Gradients {
                  const Tensor slices = kernels::contiguous(dy), dw = zeros(whole, dy.dtype(), dy.device());
                  kernels::index_add(
                      dw, 0, index.get(),
                      slices.with_layout(*slices.layout().view({index.get().numel(), whole[1]})));
                  if (padding) kernels::zero(dw.with_layout(dw.layout().select(0, *padding)));
                  return {dw};
                });
}

Tensor one_hot(const Tensor& indices, int64_t num_classes) {
  const OperationScope scope("one_hot");
  check(indices.dtype() == int64, "one_hot: index must be int64, got ", indices.dtype());
  if (num_classes == -1) {
    check(indices.numel() > 0, "one_hot: num_classes must be given when there is no index, as in shape ",
          indices.shape());
    num_classes = count_of_values(indices, "one_hot");
  }
  return kernels::one_hot(indices, num_classes);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  const OperationScope scope("bincount");
  check(!is_floating_point(x.dtype()) && x.dtype() != boolean && x.dim() == 1,
        "bincount: needs integers in one dimension, got ", x.dtype(), " ", x.shape());
  check(minlength >= 0, "bincount: minlength must not be negative, got ", minlength);
  check(!weights.defined() || weights.shape() == x.shape(), "bincount: there must be a weight for each of ",
        x.shape(), ", got ", weights.defined() ? weights.shape() : Shape());
  const auto smallest = x.numel() ? kernels::min(x).item<int64_t>() : 0;
  check(smallest >= 0, "bincount: values must not be negative, got ", smallest);
  const int64_t count = std::max(x.numel() ? count_of_values(x, "bincount") : 0, minlength);
  const Tensor each = weights.defined() ? weights.detach() : ones({}, int64, x.device());
  const DType dtype = !weights.defined() ? int64 : each.dtype() == float32 ? float32 : float64;
  const Tensor y = zeros({count}, dtype, x.device());
  kernels::index_add(y, 0, kernels::to(x, int64),
                     kernels::to(each.with_layout(each.layout().expand(x.shape())), dtype));
  return y;
}

}  // namespace tern
