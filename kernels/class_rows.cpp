#include <tern/kernels/class_rows.h>

#include <tern/kernels/checks.h>

namespace tern::kernels {

ClassRows class_rows(const char* operation, const Tensor& x, const Tensor& target, const Tensor& weight) {
  const Shape& shape = x.shape();
  check(shape.dim() >= 1, operation, ": the input must be [C], [N, C] or [N, C, d1, …], got ", shape);
  check(is_floating_point(x.dtype()), operation, ": the input must be floating-point, got ", x.dtype());
  check(target.dtype() == int64, operation, ": target must hold class indices of int64, got ",
        target.dtype());
  const int64_t dim = shape.dim() == 1 ? 0 : 1;
  Shape expected = shape;
  expected.erase(dim);
  check(target.shape() == expected, operation, ": target must be ", expected, " for an input of ", shape,
        ", got ", target.shape());
  check_same_device(x, target, operation);
  const int64_t classes = shape[dim];
  if (weight.defined()) {
    check(weight.shape() == Shape{classes} && weight.dtype() == x.dtype(), operation, ": weight must be [",
          classes, "] of ", x.dtype(), ", got ", weight.shape(), " of ", weight.dtype());
    check_same_device(x, weight, operation);
  }
  ClassRows rows{1, classes, 1};
  for (int i = 0; i < shape.dim(); ++i) {
    if (i != dim) rows.count *= shape[i];
    if (i > dim) rows.inner *= shape[i];
  }
  return rows;
}

void check_targets(const char* operation, const Tensor& target, const ClassRows& rows, int64_t ignore_index) {
  const int64_t* const classes = target.data<int64_t>();
  for (int64_t row = 0; row < rows.count; ++row) {
    check(classes[row] == ignore_index || (classes[row] >= 0 && classes[row] < rows.classes), operation,
          ": the target of row ", row, " is ", classes[row], ", must be from 0 to ", rows.classes - 1,
          " or ignore_index ", ignore_index);
  }
}

}  // namespace tern::kernels
