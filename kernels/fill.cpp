#include <tern/kernels/fill.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/copy.h>

#include <cmath>
#include <cstring>

namespace tern::kernels {
namespace {

template <class T>
void fill_cpu(const IteratePlan& plan, T* dst, T value) {
  const auto repeat = simd::move_functions(sizeof(T)).repeat;
  for_each_row(plan, [=](const int64_t* offsets, int64_t count, const int64_t* strides) {
    T* to = dst + offsets[0];
    if (strides[0] == 1)
      repeat(&value, to, count);
    else
      for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = value;
  });
}

// How many whole numbers lie before `end`; spans and counts of int64 need more than 64 bits.
__int128 integer_count(int64_t start, int64_t end, int64_t step) {
  const bool leads = step > 0 ? end >= start : step < 0 && end <= start;
  check(leads, "arange: no steps of ", step, " lead from ", start, " to ", end);
  return (static_cast<__int128>(end) - start + step - (step > 0 ? 1 : -1)) / step;
}

int64_t arange_count(Scalar start, Scalar end, Scalar step, bool floating) {
  bool fits = false;
  int64_t count = 0;
  if (floating) {
    const double steps = (end.to_double() - start.to_double()) / step.to_double();
    check(steps >= 0 && std::isfinite(steps) && std::isfinite(step.to_double()), "arange: no steps of ", step,
          " lead from ", start, " to ", end);
    fits = steps <= 0x1p62;
    count = saturate<int64_t>(std::ceil(steps));
  } else {
    const __int128 steps = integer_count(start.to_int64(), end.to_int64(), step.to_int64());
    count = static_cast<int64_t>(steps);
    fits = count == steps;
  }
  check(fits, "arange: steps of ", step, " from ", start, " to ", end, " are more than 2^63 - 1 elements");
  return count;
}

template <class T>
void arange_cpu(T* y, int64_t count, Scalar start, Scalar step, bool floating) {
  parallel_for(count, iterate_block, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (floating) {
        y[i] = Scalar(start.to_double() + static_cast<double>(i) * step.to_double()).to<T>();
      } else {  // a product may leave int64 on the way to a sum that does not
        const uint64_t value = static_cast<uint64_t>(start.to_int64()) +
                               static_cast<uint64_t>(i) * static_cast<uint64_t>(step.to_int64());
        y[i] = Scalar(static_cast<int64_t>(value)).to<T>();
      }
    }
  });
}

}  // namespace

void fill(const Tensor& dst, Scalar value) {
  check_device_kernels(dst.device(), "fill");
  check_no_overlap(dst, "fill");
  dst.bump_version();
  const IteratePlan plan = make_plan(dst.shape(), {&dst.layout()});
  dispatch(dst.dtype(), [&]<class T>() { fill_cpu(plan, dst.data<T>(), value.to<T>()); });
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
  check(rows >= 0 && columns >= 0, "eye: sizes must not be negative, got ", rows, " and ", columns);
  const Tensor y = empty({rows, columns}, dtype, device);
  zero(y);
  const int64_t count = std::min(rows, columns);
  if (count > 0) fill(y.with_layout(Layout({count}, {columns + 1}, y.layout().offset)), 1);
  return y;
}

}  // namespace tern::kernels
