#include <tern/kernels/fill.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/iterate.h>

#include <cmath>
#include <cstring>

namespace tern::kernels {
namespace {

template <class T>
void fill_cpu(const IteratePlan& plan, T* dst, T value) {
  for_each_row(plan, [=](const int64_t* offsets, int64_t count, const int64_t* strides) {
    T* to = dst + offsets[0];
    if (strides[0] == 1)
      std::fill_n(to, count, value);
    else
      for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = value;
  });
}

template <class T>
T scalar_to(Scalar value) {
  if constexpr (std::is_same_v<T, bool>)
    return value.to_double() != 0;
  else
    return value.to<T>();
}

// How many steps lie before `end`.
int64_t arange_count(Scalar start, Scalar end, Scalar step, bool floating) {
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  check(by != 0 && !(by > 0 && from > to) && !(by < 0 && from < to) && std::isfinite((to - from) / by),
        "arange: no steps of ", by, " lead from ", from, " to ", to);
  if (floating) return static_cast<int64_t>(std::ceil((to - from) / by));
  const int64_t span = end.to_int64() - start.to_int64(), stride = step.to_int64();
  check(stride != 0, "arange: an integer step must not be 0, got ", by);
  return std::max<int64_t>((span + stride - (stride > 0 ? 1 : -1)) / stride, 0);
}

template <class T>
void arange_cpu(T* y, int64_t count, Scalar start, Scalar step, bool floating) {
  parallel_for(count, iterate_block, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (floating)
        y[i] = scalar_to<T>(start.to_double() + static_cast<double>(i) * step.to_double());
      else
        y[i] = scalar_to<T>(start.to_int64() + i * step.to_int64());
    }
  });
}

}  // namespace

void fill(const Tensor& dst, Scalar value) {
  check_device_kernels(dst.device(), "fill");
  check_no_overlap(dst, "fill");
  dst.bump_version();
  const IteratePlan plan = make_plan(dst.shape(), {&dst.layout()});
  dispatch(dst.dtype(), [&]<class T>() { fill_cpu(plan, dst.data<T>(), scalar_to<T>(value)); });
}

void zero(const Tensor& dst) { fill(dst, 0); }

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device) {
  check(dtype != boolean, "arange: needs a number type, got bool");
  check_device_kernels(device, "arange");
  const bool floating = start.is_floating_point() || end.is_floating_point() || step.is_floating_point();
  const int64_t count = arange_count(start, end, step, floating);
  const Tensor y = empty({count}, dtype, device);
  dispatch(dtype, [&]<class T>() { arange_cpu(y.data<T>(), count, start, step, floating); });
  return y;
}

Tensor eye(int64_t rows, int64_t columns, DType dtype, Device device) {
  const Tensor y = empty({rows, columns}, dtype, device);
  zero(y);
  const int64_t count = std::min(rows, columns);
  if (count > 0) fill(y.with_layout(Layout({count}, {columns + 1}, y.layout().offset)), 1);
  return y;
}

}  // namespace tern::kernels
