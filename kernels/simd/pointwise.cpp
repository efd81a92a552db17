#include <tern/kernels/simd/pointwise.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

// The type in which elements of T are computed.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<Half> {
  using type = float;
};
template <>
struct ComputeType<BFloat16> {
  using type = float;
};
template <class T>
using Compute = typename ComputeType<T>::type;

template <class Math, class T>
constexpr bool serves = std::is_floating_point_v<Compute<T>> || requires {
  requires Math::integers;
};

template <class Math, class T>
void unary_loop(const Math& math, const void* x_data, void* y_data, int64_t count) {
  const T* __restrict x = static_cast<const T*>(x_data);
  T* __restrict y = static_cast<T*>(y_data);
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(math.value(static_cast<Compute<T>>(x[i])));
}

template <class Math, class T>
void unary_backward_loop(const Math& math, const void* saved_data, const void* dy_data, void* dx_data,
                         int64_t count) {
  const T* __restrict saved = static_cast<const T*>(saved_data);
  const T* __restrict dy = static_cast<const T*>(dy_data);
  T* __restrict dx = static_cast<T*>(dx_data);
  for (int64_t i = 0; i < count; ++i) {
    const auto s = static_cast<Compute<T>>(saved[i]);
    const auto d = static_cast<Compute<T>>(dy[i]);
    if constexpr (GradientFromOutput<Math>)
      dx[i] = static_cast<T>(math.gradient_at_output(s, d));
    else
      dx[i] = static_cast<T>(math.gradient_at_input(s, d));
  }
}

// Y is T, or bool for a comparison. The result may lie where an operand lies (add_), hence no __restrict.
template <class Math, class T, class Y>
void binary_loop(const Math& math, const BinaryRow& row) {
  const T* a = static_cast<const T*>(row.a);
  const T* b = static_cast<const T*>(row.b);
  Y* y = static_cast<Y*>(row.y);
  const auto value = [&math](T left, T right) {
    return static_cast<Y>(math.value(static_cast<Compute<T>>(left), static_cast<Compute<T>>(right)));
  };
  const int64_t n = row.count, sa = row.a_stride, sb = row.b_stride, sy = row.y_stride;
  if (sy == 1 && sa == 1 && sb == 1) {
    TERN_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = value(a[i], b[i]);
  } else if (sy == 1 && sa == 1 && sb == 0) {
    const T right = *b;
    TERN_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = value(a[i], right);
  } else if (sy == 1 && sa == 0 && sb == 1) {
    const T left = *a;
    TERN_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = value(left, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * sy] = value(a[i * sa], b[i * sb]);
  }
}

void unary(const UnaryMath& math, DType dtype, const void* x, void* y, int64_t count) {
  std::visit(
      [=]<class Math>(const Math& function) {
        dispatch(dtype, [=]<class T>() {
          if constexpr (!std::is_same_v<T, bool> && serves<Math, T>)
            unary_loop<Math, T>(function, x, y, count);
        });
      },
      math);
}

void unary_backward(const UnaryMath& math, DType dtype, const void* saved, const void* dy, void* dx,
                    int64_t count) {
  std::visit(
      [=]<class Math>(const Math& function) {
        dispatch(dtype, [=]<class T>() {
          if constexpr (std::is_floating_point_v<Compute<T>>) {
            unary_backward_loop<Math, T>(function, saved, dy, dx, count);
          }
        });
      },
      math);
}

void binary(const BinaryMath& math, DType dtype, const BinaryRow& row) {
  std::visit(
      [&row, dtype]<class Math>(const Math& function) {
        dispatch(dtype, [&row, &function]<class T>() {
          if constexpr (serves<Math, T>) binary_loop<Math, T, T>(function, row);
        });
      },
      math);
}

void compare(const Comparison& math, DType dtype, const BinaryRow& row) {
  std::visit(
      [&row, dtype]<class Math>(const Math& function) {
        dispatch(dtype, [&row, &function]<class T>() { binary_loop<Math, T, bool>(function, row); });
      },
      math);
}

}  // namespace

extern const PointwiseKernels pointwise_table;
const PointwiseKernels pointwise_table{unary, unary_backward, binary, compare};

}  // namespace tern::simd::TERN_ISA
