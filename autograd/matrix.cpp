#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/autograd/views.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/matmul.h>
#include <tern/kernels/reduce.h>

#include <span>

namespace tern {
namespace {

Tensor transposed(const Tensor& x) { return x.with_layout(x.layout().transpose(-2, -1)); }

Tensor with_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const Tensor dense = kernels::contiguous(x);
  return dense.with_layout(Layout(shape, dense_strides(shape), dense.layout().offset));
}

Shape inserted(Shape shape, int64_t position) {
  shape.insert(position, 1);
  return shape;
}

int64_t rows_of(const Shape& shape) {  // not numel / columns: a matrix without columns has rows too
  return Shape(std::span(shape.begin(), shape.end() - 1)).numel();
}

// The product, summed over the batches that `matrix` was broadcast along, in the shape that the operand had
// before it was seen as a matrix. Half types are rounded once.
Tensor product_gradient(const Tensor& left, const Tensor& right, const Shape& matrix, const Shape& original) {
  const DType dtype = left.dtype(), wide = computing_dtype(dtype);
  const Tensor product = kernels::matmul(kernels::to(left, wide), kernels::to(right, wide));
  return kernels::to(with_shape(kernels::sum_to(product, matrix), original), dtype);
}

}  // namespace

// Y = A B; dA = dY B^T, dB = A^T dY, where vectors are matrices with one row or column, and batches of A that
// meet a single B are rows of one matrix.
Tensor matmul(const Tensor& a, const Tensor& b) {
  const OperationScope scope("matmul");
  return record("matmul", kernels::matmul(a, b), {a, b},
                [a = SavedTensor(a), b = SavedTensor(b)](const Tensor& dy, Wants wants) -> Gradients {
                  const Shape shape_a = a.get().shape(), shape_b = b.get().shape();
                  Shape full_a = shape_a.dim() == 1 ? inserted(shape_a, 0) : shape_a;
                  const Shape full_b = shape_b.dim() == 1 ? inserted(shape_b, 1) : shape_b;
                  Shape full_y = dy.shape();
                  if (shape_b.dim() == 1) full_y.push_back(1);
                  if (shape_a.dim() == 1) full_y.insert(full_y.dim() - 1, 1);
                  if (full_b.dim() == 2 && full_a.dim() > 2) {
                    full_a = {rows_of(full_a), full_a.back()};
                    full_y = {full_a[0], full_y.back()};
                  }
                  const Tensor d = with_shape(dy, full_y), left = with_shape(a.get(), full_a),
                               right = with_shape(b.get(), full_b);
                  return {wants[0] ? product_gradient(d, transposed(right), full_a, shape_a) : Tensor(),
                          wants[1] ? product_gradient(transposed(left), d, full_b, shape_b) : Tensor()};
                });
}

Tensor dot(const Tensor& a, const Tensor& b) {
  const OperationScope scope("dot");
  check(a.dim() == 1 && a.shape() == b.shape(), "dot: needs two vectors of one size, got ", a.shape(),
        " and ", b.shape());
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  const OperationScope scope("outer");
  check(a.dim() == 1 && b.dim() == 1, "outer: needs two vectors, got ", a.shape(), " and ", b.shape());
  return unsqueeze(a, 1) * b;
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  const OperationScope scope("bmm");
  check(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1),
        "bmm: needs [B, N, M] and [B, M, P], got ", a.shape(), " and ", b.shape());
  return matmul(a, b);
}

namespace {

// dx = dy W, dW = dy^T x, db = sum of dy over all rows.
Gradients linear_gradients(const Tensor& dy, const Tensor& x, const Tensor& weight, Wants wants) {
  const int64_t rows = rows_of(x.shape());
  const Tensor d = with_shape(dy, {rows, weight.size(0)});
  Gradients gradients(3, Tensor());
  if (wants[0]) gradients[0] = with_shape(kernels::matmul(d, weight), x.shape());
  if (wants[1]) gradients[1] = kernels::matmul(transposed(d), with_shape(x, {rows, weight.size(1)}));
  if (wants[2]) gradients[2] = kernels::sum(d, {0});
  return gradients;
}

// x [N, C, H, W], channels-last, as the matrix [N, H W C] that it is in memory.
Tensor memory_rows(const Tensor& x) {
  return x.with_layout(Layout({x.size(0), x.size(1) * x.size(2) * x.size(3)},
                              {x.numel() / std::max<int64_t>(x.size(0), 1), 1}, x.layout().offset));
}

// The weight [O, C H W] with its columns in the order H, W, C, and back.
Tensor to_memory_columns(const Tensor& weight, const Shape& x) {
  const Tensor image = with_shape(weight, {weight.size(0), x[1], x[2], x[3]});
  return with_shape(image.with_layout(image.layout().permute({0, 2, 3, 1})), weight.shape());
}

Tensor from_memory_columns(const Tensor& dweight, const Shape& x) {
  const Tensor image = with_shape(dweight, {dweight.size(0), x[2], x[3], x[1]});
  return with_shape(image.with_layout(image.layout().permute({0, 3, 1, 2})), dweight.shape());
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const OperationScope scope("linear");
  return record(
      "linear", kernels::linear(x, weight, bias), {x, weight, bias},
      [x = SavedTensor(x), weight = SavedTensor(weight)](const Tensor& dy, Wants wants) -> Gradients {
        return linear_gradients(dy, x.get(), weight.get(), wants);
      });
}

Tensor flatten_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const OperationScope scope("flatten_linear");
  check(x.dim() == 4, "flatten_linear: input must be [N, C, H, W], got ", x.shape());
  const int64_t features = x.size(1) * x.size(2) * x.size(3);
  check(weight.dim() == 2 && weight.size(1) == features, "flatten_linear: weight must be [out, ", features,
        "] for input ", x.shape(), ", got ", weight.shape());
  const Tensor image = kernels::contiguous(x, MemoryFormat::channels_last);
  const Tensor rows = memory_rows(image), columns = to_memory_columns(weight, x.shape());
  return record("flatten_linear", kernels::linear(rows, columns, bias), {x, weight, bias},
                [rows = SavedTensor(rows), columns, weight = SavedTensor(weight), shape = x.shape()](
                    const Tensor& dy, Wants wants) -> Gradients {
                  (void)weight.get();  // columns were made from it
                  Gradients gradients = linear_gradients(dy, rows.get(), columns, wants);
                  if (wants[0]) {
                    gradients[0] = gradients[0].with_layout(Layout(shape, MemoryFormat::channels_last));
                  }
                  if (wants[1]) gradients[1] = from_memory_columns(gradients[1], shape);
                  return gradients;
                });
}

}  // namespace tern
