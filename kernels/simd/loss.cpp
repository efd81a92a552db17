#include <tern/kernels/simd/loss.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

template <LossPart part, class Math, class T>
[[gnu::always_inline]] inline T part_of(const Math& math, T x, T t, T p) {
  if constexpr (part == LossPart::value) return math.value(x, t, p);
  if constexpr (part == LossPart::input_slope) return math.input_slope(x, t, p);
  if constexpr (part == LossPart::target_slope) return math.target_slope(x, t, p);
}

template <LossPart part, class Math, class T>
void loss_loop(const Math& math, const LossRun<T>& run, T* __restrict y) {
  const T* __restrict x = run.x;
  const T* __restrict target = run.target;
  const T* __restrict factor = run.factor;
  const T* __restrict positive = run.positive;
  const T scale = run.scale;
  const int64_t n = run.count;
  for (int64_t i = 0; i < n; ++i)
    y[i] = scale * factor[i] * part_of<part>(math, x[i], target[i], positive[i]);
}

template <class T>
void loss(const LossMath& math, LossPart part, const LossRun<T>& run, T* y) {
  std::visit(
      [&run, part, y]<class Math>(const Math& function) {
        switch (part) {
          case LossPart::value:
            return loss_loop<LossPart::value>(function, run, y);
          case LossPart::input_slope:
            return loss_loop<LossPart::input_slope>(function, run, y);
          case LossPart::target_slope:
            return loss_loop<LossPart::target_slope>(function, run, y);
        }
      },
      math);
}

}  // namespace

extern const LossKernels loss_table;
const LossKernels loss_table{loss<float>, loss<double>};

}  // namespace tern::simd::TERN_ISA
