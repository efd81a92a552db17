#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/matmul.h>
#include <tern/kernels/reduce.h>

namespace tern {
namespace {

Tensor transposed(const Tensor& x) { return x.with_layout(x.layout().transpose(-2, -1)); }

Tensor with_shape(const Tensor& x, const Shape& shape) {
  const Tensor dense = kernels::contiguous(x);
  return dense.with_layout(Layout(shape, dense_strides(shape), dense.layout().offset));
}

Shape inserted(Shape shape, int64_t position) {
  shape.insert(position, 1);
  return shape;
}

// A gradient of a [..., m, n] operand that may have been broadcast over batches, or have been a vector.
Tensor fitted(const Tensor& gradient, const Shape& matrix, const Shape& original) {
  return with_shape(kernels::sum_to(gradient, matrix), original);
}

}  // namespace

// Y = A B; dA = dY B^T, dB = A^T dY, where vectors are matrices with one row or column.
Tensor matmul(const Tensor& a, const Tensor& b) {
  return record("matmul", kernels::matmul(a, b), {a, b},
                [a = SavedTensor(a), b = SavedTensor(b)](const Tensor& dy, Wants wants) -> Gradients {
                  const Shape shape_a = a.get().shape(), shape_b = b.get().shape();
                  const bool row = shape_a.dim() == 1, column = shape_b.dim() == 1;
                  const Shape full_a = row ? inserted(shape_a, 0) : shape_a,
                              full_b = column ? inserted(shape_b, 1) : shape_b;
                  Shape full_y = dy.shape();
                  if (row) full_y.insert(column ? 0 : full_y.dim() - 1, 1);
                  if (column) full_y.insert(full_y.dim(), 1);
                  const Tensor d = full_y == dy.shape() ? dy : with_shape(dy, full_y);
                  const Tensor left = row ? with_shape(a.get(), full_a) : a.get();
                  const Tensor right = column ? with_shape(b.get(), full_b) : b.get();
                  return {
                      wants[0] ? fitted(kernels::matmul(d, transposed(right)), full_a, shape_a) : Tensor(),
                      wants[1] ? fitted(kernels::matmul(transposed(left), d), full_b, shape_b) : Tensor()};
                });
}

namespace {

// dx = dy W, dW = dy^T x, db = sum of dy over all rows.
Gradients linear_gradients(const Tensor& dy, const Tensor& x, const Tensor& weight, Wants wants) {
  int64_t rows = 1;  // not dy.numel() / out: a layer without outputs has rows too
  for (int64_t i = 0; i + 1 < x.dim(); ++i) rows *= x.shape()[i];
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
  return record(
      "linear", kernels::linear(x, weight, bias), {x, weight, bias},
      [x = SavedTensor(x), weight = SavedTensor(weight)](const Tensor& dy, Wants wants) -> Gradients {
        return linear_gradients(dy, x.get(), weight.get(), wants);
      });
}

Tensor flatten_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
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
