#include <tern/kernels/gradient_norm.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/optimizer.h>

#include <numeric>

namespace tern::kernels {
namespace {

constexpr int64_t chunk = 1024;

// Calls body(T* elements, count) for dense runs of elements [begin, end) of x; others than dense Ts are
// converted, and back where the body writes.
template <class T, class Body>
void visit_runs(const Tensor& x, const IteratePlan& plan, int64_t begin, int64_t end, bool writes,
                Body&& body) {
  const DType dtype = x.dtype();
  char* const data = static_cast<char*>(x.data());
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  T buffer[chunk];
  visit_rows(plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
    if (dtype == dtype_of<T>() && strides[0] == 1)
      return body(reinterpret_cast<T*>(data + offsets[0] * bytes), count);
    for (int64_t i = 0; i < count; i += chunk) {
      const int64_t n = std::min(chunk, count - i);
      char* const place = data + (offsets[0] + i * strides[0]) * bytes;
      convert_row(dtype, dtype_of<T>())(place, strides[0], buffer, 1, n);
      body(static_cast<T*>(buffer), n);
      if (writes) convert_row(dtype_of<T>(), dtype)(buffer, 1, place, strides[0], n);
    }
  });
}

double sum_of_range(const Tensor& x, const IteratePlan& plan, int64_t begin, int64_t end) {
  const auto& table = simd::optimizer_kernels();
  double sum = 0;
  if (x.dtype() == float64)
    visit_runs<double>(x, plan, begin, end, false,
                       [&](const double* run, int64_t n) { sum += table.f64.sum_of_squares(run, n); });
  else
    visit_runs<float>(x, plan, begin, end, false,
                      [&](const float* run, int64_t n) { sum += table.f32.sum_of_squares(run, n); });
  return sum;
}

void scale_range(const Tensor& x, const IteratePlan& plan, int64_t begin, int64_t end, double factor) {
  const auto& table = simd::optimizer_kernels();
  if (x.dtype() == float64)
    visit_runs<double>(x, plan, begin, end, true,
                       [&](double* run, int64_t n) { table.f64.scale(factor, run, n); });
  else
    visit_runs<float>(x, plan, begin, end, true,
                      [&](float* run, int64_t n) { table.f32.scale(static_cast<float>(factor), run, n); });
}

void check_gradient(const char* operation, const Tensor& x) {
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
  check_device_kernels(x.device(), operation);
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  check_gradient("sum_of_squares", x);
  const IteratePlan plan = make_plan(x.shape(), {&x.layout()});
  const int64_t blocks = (x.numel() + iterate_block - 1) / iterate_block;
  const Tensor sums = empty({blocks}, float64);
  double* const parts = sums.data<double>();
  parallel_for(x.numel(), iterate_block, [&plan, &x, parts](int64_t begin, int64_t end) {
    parts[begin / iterate_block] = sum_of_range(x, plan, begin, end);
  });
  return std::accumulate(parts, parts + blocks, 0.0);
}

void scale_(const Tensor& x, double factor) {
  check_gradient("scale_", x);
  check_no_overlap(x, "scale_");
  x.bump_version();
  const IteratePlan plan = make_plan(x.shape(), {&x.layout()});
  parallel_for(x.numel(), iterate_block,
               [&plan, &x, factor](int64_t begin, int64_t end) { scale_range(x, plan, begin, end, factor); });
}

}  // namespace tern::kernels
