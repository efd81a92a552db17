#include <tern/kernels/simd/half_rows.h>
#include <tern/kernels/simd/pointwise.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

// float16 and bfloat16 go through float32 this many at a time: every function is compiled for float and
// double alone, and its loop stays simple enough to be vectorised.
constexpr int64_t block = 1024;

template <class T>
constexpr bool reduced = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Whether there is a loop of Math for T itself.
template <class Math, class T>
constexpr bool serves = std::is_floating_point_v<T> || requires {
  requires Math::integers && !reduced<T>;
};

// Calls body.template operator()<T>() when `dtype` is float16 or bfloat16, and says whether it was.
template <class Body>
bool dispatch_reduced(DType dtype, Body&& body) {
  if (dtype == DType::float16)
    body.template operator()<Half>();
  else if (dtype == DType::bfloat16)
    body.template operator()<BFloat16>();
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

template <class T>
void widen(const void* x, int64_t begin, int64_t stride, int64_t count, float* y) {
  const T* const from = static_cast<const T*>(x) + begin * stride;
  if (stride == 1) {
    widen_row(from, count, y);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(from[i * stride]);
  }
}

template <class T>
void narrow(const float* x, int64_t count, void* y, int64_t begin, int64_t stride) {
  T* const to = static_cast<T*>(y) + begin * stride;
  if (stride == 1) {
    narrow_row(x, count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = static_cast<T>(x[i]);
  }
}

template <class Math, class T>
void unary_loop(const Math& math, const void* x_data, void* y_data, int64_t count) {
  const T* __restrict x = static_cast<const T*>(x_data);
  T* __restrict y = static_cast<T*>(y_data);
  for (int64_t i = 0; i < count; ++i) y[i] = math.value(x[i]);
}

template <class Math, class T>
void unary_backward_loop(const Math& math, const void* saved_data, const void* dy_data, void* dx_data,
                         int64_t count) {
  const T* __restrict saved = static_cast<const T*>(saved_data);
  const T* __restrict dy = static_cast<const T*>(dy_data);
  T* __restrict dx = static_cast<T*>(dx_data);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (GradientFromOutput<Math>)
      dx[i] = math.gradient_at_output(saved[i], dy[i]);
    else
      dx[i] = math.gradient_at_input(saved[i], dy[i]);
  }
}

// Y is T, or bool for a comparison. The result may lie where an operand lies (add_), hence no __restrict.
template <class Math, class T, class Y>
void binary_loop(const Math& math, const BinaryRow& row) {
  const T* a = static_cast<const T*>(row.a);
  const T* b = static_cast<const T*>(row.b);
  Y* y = static_cast<Y*>(row.y);
  const auto value = [&math](T left, T right) { return static_cast<Y>(math.value(left, right)); };
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
  const bool done = dispatch_reduced(dtype, [=, &math]<class T>() {
    float from[block], to[block];
    for (int64_t begin = 0; begin < count; begin += block) {
      const int64_t part = count - begin < block ? count - begin : block;
      widen<T>(x, begin, 1, part, from);
      unary(math, DType::float32, from, to, part);
      narrow<T>(to, part, y, begin, 1);
    }
  });
  if (done) return;
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
  const bool done = dispatch_reduced(dtype, [=, &math]<class T>() {
    float kept[block], upstream[block], to[block];
    for (int64_t begin = 0; begin < count; begin += block) {
      const int64_t part = count - begin < block ? count - begin : block;
      widen<T>(saved, begin, 1, part, kept);
      widen<T>(dy, begin, 1, part, upstream);
      unary_backward(math, DType::float32, kept, upstream, to, part);
      narrow<T>(to, part, dx, begin, 1);
    }
  });
  if (done) return;
  std::visit(
      [=]<class Math>(const Math& function) {
        dispatch(dtype, [=]<class T>() {
          if constexpr (std::is_floating_point_v<T>)
            unary_backward_loop<Math, T>(function, saved, dy, dx, count);
        });
      },
      math);
}

// A row of float16 or bfloat16 by `whole`, which takes rows of float32. Y is T, or bool for a comparison.
template <class T, class Y, class Math>
void binary_blocks(void (*whole)(const Math&, DType, const BinaryRow&), const Math& math,
                   const BinaryRow& row) {
  float a[block], b[block], y[block];
  for (int64_t begin = 0; begin < row.count; begin += block) {
    const int64_t part = row.count - begin < block ? row.count - begin : block;
    // An operand that is one number stays one.
    if (!row.a_wide) widen<T>(row.a, begin, row.a_stride, row.a_stride ? part : 1, a);
    if (!row.b_wide) widen<T>(row.b, begin, row.b_stride, row.b_stride ? part : 1, b);
    BinaryRow wide{row.a_wide ? row.a : a,
                   row.b_wide ? row.b : b,
                   y,
                   part,
                   row.a_stride ? 1 : 0,
                   row.b_stride ? 1 : 0,
                   1,
                   false,
                   false};
    if constexpr (std::is_same_v<Y, bool>) {
      wide.y = static_cast<bool*>(row.y) + begin * row.y_stride;
      wide.y_stride = row.y_stride;
    }
    whole(math, DType::float32, wide);
    if constexpr (!std::is_same_v<Y, bool>) narrow<T>(y, part, row.y, begin, row.y_stride);
  }
}

void binary(const BinaryMath& math, DType dtype, const BinaryRow& row) {
  if (dispatch_reduced(dtype, [&]<class T>() { binary_blocks<T, T>(binary, math, row); })) return;
  std::visit(
      [&row, dtype]<class Math>(const Math& function) {
        dispatch(dtype, [&row, &function]<class T>() {
          if constexpr (serves<Math, T>) binary_loop<Math, T, T>(function, row);
        });
      },
      math);
}

void compare(const Comparison& math, DType dtype, const BinaryRow& row) {
  if (dispatch_reduced(dtype, [&]<class T>() { binary_blocks<T, bool>(compare, math, row); })) return;
  std::visit(
      [&row, dtype]<class Math>(const Math& function) {
        dispatch(dtype, [&row, &function]<class T>() {
          if constexpr (!reduced<T>) binary_loop<Math, T, bool>(function, row);
        });
      },
      math);
}

}  // namespace

extern const PointwiseKernels pointwise_table;
const PointwiseKernels pointwise_table{unary, unary_backward, binary, compare};

}  // namespace tern::simd::TERN_ISA
