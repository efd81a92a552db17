#include <tern/kernels/matmul.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/gemm.h>
#include <tern/kernels/iterate.h>

#include <optional>

namespace tern::kernels {
namespace {

// How the last two dimensions lie, when that is a matrix or a transposed one.
struct Matrix {
  bool transposed;
  int64_t leading;
};

std::optional<Matrix> matrix_of(const Layout& x) {
  const int64_t rows = x.shape[x.dim() - 2], columns = x.shape[x.dim() - 1];
  const int64_t down = x.strides[x.dim() - 2], across = x.strides[x.dim() - 1];
  if ((columns <= 1 || across == 1) && (rows <= 1 || down >= columns)) {
    return Matrix{false, std::max<int64_t>(rows <= 1 ? columns : down, 1)};
  }
  if ((rows <= 1 || down == 1) && (columns <= 1 || across >= rows)) {
    return Matrix{true, std::max<int64_t>(columns <= 1 ? rows : across, 1)};
  }
  return std::nullopt;
}

struct Operand {
  Tensor tensor;
  Matrix matrix;
};

Operand operand_of(const Tensor& x) {
  if (const auto matrix = matrix_of(x.layout())) return {x, *matrix};
  const Tensor dense = contiguous(x);
  return {dense, matrix_of(dense.layout()).value()};
}

// oneDNN reads rows of b in place, and at distances that are a multiple of 2 KiB they fight for the same
// lines of the cache: a copy with longer rows pays where it is read often enough.
Operand padded_where_aliased(const Operand& b, int64_t rows_of_a) {
  const Tensor& x = b.tensor;
  const bool aliased = x.dtype() == float32 && !b.matrix.transposed && b.matrix.leading % 512 == 0;
  if (!aliased || rows_of_a < 128 || x.size(-1) < 128 || x.size(-2) < 64) return b;
  Shape shape = x.shape();
  shape[x.dim() - 1] += 16;
  const Tensor wide = empty(shape, x.dtype(), x.device());
  const Tensor copied = wide.with_layout(wide.layout().slice(-1, 0, x.size(-1), 1));
  copy(x, copied);
  return {copied, {false, shape.back()}};
}

// A layout's dimensions before the last two.
Layout batch_of(const Layout& x) {
  Layout batch = x;
  for (int i = 0; i < 2; ++i) {
    batch.shape.erase(batch.dim() - 1);
    batch.strides.erase(static_cast<int64_t>(batch.strides.dim()) - 1);
  }
  return batch;
}

template <class T, class In>
GemmPlan<T> plan_of(const GemmSizes& sizes) {
  if constexpr (std::is_same_v<T, In>) return GemmPlan<T>(sizes);
  return GemmPlan<T>(sizes, GemmPlan<T>::Method::library);
}

// Every matrix of the batch, in tiles: operands of In, bias (may be null) and result of T.
template <class T, class In = T>
void multiply(const Tensor& a, const Tensor& b, const T* bias, const Tensor& c) {
  const Operand left = operand_of(a), right = padded_where_aliased(operand_of(b), a.size(-2));
  const GemmSizes sizes{left.matrix.transposed,
                        right.matrix.transposed,
                        c.size(-2),
                        c.size(-1),
                        a.size(-1),
                        left.matrix.leading,
                        right.matrix.leading,
                        std::max<int64_t>(c.size(-1), 1)};
  const GemmPlan<T> plan = plan_of<T, In>(sizes);
  const Layout batch = batch_of(c.layout()), a_batch = batch_of(left.tensor.layout()),
               b_batch = batch_of(right.tensor.layout());
  const IteratePlan matrices = make_plan(batch.shape, {&batch, &a_batch, &b_batch});
  const In *a_data = left.tensor.data<In>(), *b_data = right.tensor.data<In>();
  T* const c_data = c.data<T>();
  parallel_for(matrices.numel * plan.tiles, plan.tiles_per_call, [&](int64_t begin, int64_t end) {
    const int64_t first = begin / plan.tiles, last = (end + plan.tiles - 1) / plan.tiles;
    int64_t unit = begin;
    visit_rows(matrices, first, last, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      for (int64_t i = 0; i < count; ++i) {
        const In* x = a_data + offsets[1] + i * strides[1];
        const In* y = b_data + offsets[2] + i * strides[2];
        T* z = c_data + offsets[0] + i * strides[0];
        const int64_t stop = std::min((unit / plan.tiles + 1) * plan.tiles, end);
        for (; unit < stop; ++unit) plan.run(unit % plan.tiles, T{1}, x, y, T{0}, bias, z);
      }
    });
  });
}

// Products of integers wrap around.
template <class T>
void integer_row(const T* x, const Strides& x_strides, const T* y, const Strides& y_strides, int64_t depth,
                 T* z, int64_t n) {
  std::fill_n(z, n, T{0});
  for (int64_t p = 0; p < depth; ++p) {
    const auto factor = static_cast<uint64_t>(x[p * x_strides.back()]);
    const T* row = y + p * y_strides[y_strides.dim() - 2];
    for (int64_t j = 0; j < n; ++j) {
      z[j] = static_cast<T>(static_cast<uint64_t>(z[j]) +
                            factor * static_cast<uint64_t>(row[j * y_strides.back()]));
    }
  }
}

template <class T>
void multiply_integers(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Layout batch = batch_of(c.layout()), a_batch = batch_of(a.layout()), b_batch = batch_of(b.layout());
  const IteratePlan matrices = make_plan(batch.shape, {&batch, &a_batch, &b_batch});
  const int64_t m = c.size(-2), n = c.size(-1), depth = a.size(-1), down = a.stride(-2);
  const int64_t block = std::max<int64_t>(iterate_block / std::max<int64_t>(n * depth, 1), 1);
  const T *a_data = a.data<T>(), *b_data = b.data<T>();
  T* const c_data = c.data<T>();
  visit_rows(matrices, 0, matrices.numel, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
    parallel_for(count * m, block, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        integer_row(a_data + offsets[1] + i / m * strides[1] + i % m * down, a.strides(),
                    b_data + offsets[2] + i / m * strides[2], b.strides(), depth,
                    c_data + offsets[0] + i / m * strides[0] + i % m * n, n);
      }
    });
  });
}

void multiply_cpu(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& c) {
  if (c.numel() == 0) return;
  const bool biased = bias.defined();
  switch (a.dtype()) {
    case DType::float32:
      return multiply<float>(a, b, biased ? contiguous(bias).data<float>() : nullptr, c);
    case DType::float64:
      return multiply<double>(a, b, biased ? contiguous(bias).data<double>() : nullptr, c);
    case DType::int64:
      return multiply_integers<int64_t>(a, b, c);
    case DType::int32:
      return multiply_integers<int32_t>(a, b, c);
    case DType::uint8:
      return multiply_integers<uint8_t>(a, b, c);
    default: {
      const Tensor wide = empty(c.shape(), float32, c.device());
      const Tensor term = biased ? contiguous(to(bias, float32)) : bias;
      if (a.dtype() == bfloat16 && multiplies_bfloat16())
        multiply<float, BFloat16>(a, b, biased ? term.data<float>() : nullptr, wide);
      else
        multiply_cpu(to(a, float32), to(b, float32), term, wide);
      return copy(wide, c);
    }
  }
}

// x with leading dimensions melted into rows.
Tensor as_rows(const Tensor& x) {
  Shape rows{1, x.shape().back()};
  for (int d = 0; d < x.dim() - 1; ++d) rows[0] *= x.shape()[d];
  if (const auto layout = x.layout().view(rows)) return x.with_layout(*layout);
  const Tensor dense = contiguous(x);
  return dense.with_layout(dense.layout().view(rows).value());
}

Tensor multiply_matrices(const Tensor& a, const Tensor& b) {
  const Shape batch = broadcast_shapes(batch_of(a.layout()).shape, batch_of(b.layout()).shape, "matmul");
  Shape shape = batch;
  shape.push_back(a.size(-2)), shape.push_back(b.size(-1));
  const Tensor c = empty(shape, a.dtype(), a.device());
  if (b.dim() == 2 && a.dim() > 2) {  // one tall product
    multiply_cpu(as_rows(a), b, {}, as_rows(c));
  } else {
    multiply_cpu(a, b, {}, c);
  }
  return c;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a.dim() > 0 && b.dim() > 0, "matmul: operands need at least one dimension, got ", a.shape(), " and ",
        b.shape());
  check_same_device(a, b, "matmul");
  check_same_dtype(a, b, "matmul");
  check(a.dtype() != boolean, "matmul: needs a number type, got bool");
  check(a.size(-1) == b.size(b.dim() > 1 ? -2 : 0), "matmul: inner sizes of ", a.shape(), " and ", b.shape(),
        " differ");
  const Tensor left = a.dim() == 1 ? a.with_layout(a.layout().unsqueeze(0)) : a;
  const Tensor right = b.dim() == 1 ? b.with_layout(b.layout().unsqueeze(1)) : b;
  const Tensor c = multiply_matrices(left, right);
  Layout layout = c.layout();
  if (b.dim() == 1) layout = layout.select(-1, 0);
  if (a.dim() == 1) layout = layout.select(b.dim() == 1 ? -1 : -2, 0);
  return a.dim() == 1 || b.dim() == 1 ? c.with_layout(layout) : c;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_same_device(x, weight, "linear");
  check_same_dtype(x, weight, "linear");
  check(is_floating_point(x.dtype()), "linear: needs floating-point tensors, got ", x.dtype());
  check(weight.dim() == 2 && x.dim() > 0 && x.size(-1) == weight.size(1),
        "linear: x must be [..., in] and weight [out, in], got ", x.shape(), " and ", weight.shape());
  if (bias.defined()) {
    check_same_device(x, bias, "linear");
    check_same_dtype(x, bias, "linear");
    check(bias.shape() == Shape{weight.size(0)}, "linear: bias must be [", weight.size(0), "], got ",
          bias.shape());
  }
  Shape shape = x.shape();
  shape[x.dim() - 1] = weight.size(0);
  const Tensor y = empty(shape, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  multiply_cpu(as_rows(x), weight.with_layout(weight.layout().transpose(0, 1)), bias, as_rows(y));
  return y;
}

}  // namespace tern::kernels
