#include <tern/kernels/simd/optimizer.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

// a * b + c. In a sum of two products the compiler would choose which of them to fuse, and may choose
// otherwise in the vectors than in the rest of a run.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
[[gnu::always_inline]] inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
[[gnu::always_inline]] inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
template <class T>
[[gnu::always_inline]] inline T fused(T a, T b, T c) {
  return a * b + c;
}
#endif

[[gnu::always_inline]] inline float root(float x) { return __builtin_sqrtf(x); }
[[gnu::always_inline]] inline double root(double x) { return __builtin_sqrt(x); }

// Operands may be one tensor (a parameter as its own gradient), hence no __restrict.
template <bool with_momentum, class T>
void sgd_run(const SgdStep& step, T* p, const T* g, T* m, int64_t count) {
  const T rate = static_cast<T>(-step.lr), decay = static_cast<T>(step.weight_decay);
  const T momentum = static_cast<T>(step.momentum), share = static_cast<T>(1 - step.dampening);
  const bool decays = step.weight_decay != 0, first = step.first, nesterov = step.nesterov;
  const bool maximize = step.maximize;
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    T update = maximize ? -g[i] : g[i];
    update = decays ? fused(decay, p[i], update) : update;
    if constexpr (with_momentum) {
      const T mean = first ? update : fused(share, update, momentum * m[i]);
      m[i] = mean;
      update = nesterov ? fused(momentum, mean, update) : mean;
    }
    p[i] = fused(rate, update, p[i]);
  }
}

template <class T>
void sgd(const SgdStep& step, T* p, const T* g, T* m, int64_t count) {
  if (m)
    sgd_run<true>(step, p, g, m, count);
  else
    sgd_run<false>(step, p, g, m, count);
}

template <bool with_max, class T>
void adamw_run(const AdamwStep& step, T* p, const T* g, T* mean, T* square, T* max_square, int64_t count) {
  const bool maximize = step.maximize;
  const T shrink = static_cast<T>(step.shrink), share1 = static_cast<T>(1 - step.beta1);
  const T beta2 = static_cast<T>(step.beta2), share2 = static_cast<T>(1 - step.beta2);
  const T rate = static_cast<T>(-step.step_size), correction = static_cast<T>(step.correction);
  const T eps = static_cast<T>(step.eps);
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T gradient = maximize ? -g[i] : g[i];
    const T m = fused(share1, gradient - mean[i], mean[i]);
    T s = fused(share2 * gradient, gradient, beta2 * square[i]);
    mean[i] = m;
    square[i] = s;
    if constexpr (with_max) {
      const T largest = max_square[i];
      s = s > largest || s != s ? s : largest;
      max_square[i] = s;
    }
    p[i] = fused(shrink, p[i], rate * m / (root(s) / correction + eps));
  }
}

template <class T>
void adamw(const AdamwStep& step, T* p, const T* g, T* mean, T* square, T* max_square, int64_t count) {
  if (max_square)
    adamw_run<true>(step, p, g, mean, square, max_square, count);
  else
    adamw_run<false>(step, p, g, mean, square, max_square, count);
}

}  // namespace

extern const OptimizerKernels optimizer_table;
const OptimizerKernels optimizer_table{{sgd<float>, adamw<float>}, {sgd<double>, adamw<double>}};

}  // namespace tern::simd::TERN_ISA
