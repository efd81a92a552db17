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

// The gradient to go by: turned around to maximise, and with L2 decay. No branches: the compiler gives up on
// vectorising long loops that have any, even where they always go one way.
template <bool decays, class T>
struct Direction {
  T sign, decay;
  Direction(bool maximize, double weight_decay)
      : sign(maximize ? T(-1) : T(1)), decay(static_cast<T>(weight_decay)) {}
  [[gnu::always_inline]] T operator()(T g, T p) const {
    const T gradient = sign * g;
    if constexpr (decays) return fused(decay, p, gradient);
    return gradient;
  }
};

struct Yes {
  static constexpr bool value = true;
};
struct No {
  static constexpr bool value = false;
};

// body(Yes or No): a loop of its own for either answer.
template <class Body>
[[gnu::always_inline]] inline void choose(bool answer, const Body& body) {
  if (answer)
    body(Yes());
  else
    body(No());
}

[[gnu::always_inline]] inline float root(float x) { return __builtin_sqrtf(x); }
[[gnu::always_inline]] inline double root(double x) { return __builtin_sqrt(x); }

[[gnu::always_inline]] inline float absolute(float x) { return __builtin_fabsf(x); }
[[gnu::always_inline]] inline double absolute(double x) { return __builtin_fabs(x); }

// Operands may be one tensor (a parameter as its own gradient), hence no __restrict: a loop reads before it
// writes, or the compiler would think that it reads what it wrote, and not vectorise it.
template <bool with_momentum, bool decays, class T>
void sgd_run(const SgdStep& step, T* p, const T* g, T* m, int64_t count) {
  const Direction<decays, T> direction(step.maximize, step.weight_decay);
  const T rate = static_cast<T>(-step.lr), momentum = static_cast<T>(step.momentum);
  // The first time the buffer holds nothing yet, not even numbers.
  const bool first = step.first, nesterov = step.nesterov;
  const T share = static_cast<T>(1 - step.dampening);
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    T update = direction(g[i], p[i]);
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
  choose(m, [&](auto momentum) {
    choose(step.weight_decay != 0,
           [&](auto decays) { sgd_run<momentum.value, decays.value>(step, p, g, m, count); });
  });
}

template <bool with_max, bool decays, class T>
void adam_run(const AdamStep& step, T* p, const T* g, T* mean, T* square, T* max_square, int64_t count) {
  const Direction<decays, T> direction(step.maximize, step.decay);
  const T shrink = static_cast<T>(step.shrink), share1 = static_cast<T>(1 - step.beta1);
  const T beta2 = static_cast<T>(step.beta2), share2 = static_cast<T>(1 - step.beta2);
  const T rate = static_cast<T>(-step.step_size), correction = static_cast<T>(step.correction);
  const T eps = static_cast<T>(step.eps);
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T parameter = p[i], before = mean[i];
    const T gradient = direction(g[i], parameter);
    const T m = fused(share1, gradient - before, before);
    const T s = fused(share2 * gradient, gradient, beta2 * square[i]);
    T most = s;
    if constexpr (with_max) {
      const T largest = max_square[i];
      most = ((s > largest) | (s != s)) ? s : largest;
    }
    p[i] = fused(shrink, parameter, rate * m / (root(most) / correction + eps));
    mean[i] = m;
    square[i] = s;
    if constexpr (with_max) max_square[i] = most;
  }
}

template <class T>
void adam(const AdamStep& step, T* p, const T* g, T* mean, T* square, T* max_square, int64_t count) {
  choose(max_square, [&](auto with_max) {
    choose(step.decay != 0, [&](auto decays) {
      adam_run<with_max.value, decays.value>(step, p, g, mean, square, max_square, count);
    });
  });
}

template <bool centered, bool with_momentum, bool decays, class T>
void rmsprop_run(const RmspropStep& step, T* p, const T* g, T* square, T* mean, T* momentum, int64_t count) {
  const Direction<decays, T> direction(step.maximize, step.weight_decay);
  const T alpha = static_cast<T>(step.alpha), share = static_cast<T>(1 - step.alpha);
  const T eps = static_cast<T>(step.eps);
  const T rate = static_cast<T>(-step.lr), keep = static_cast<T>(step.momentum);
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T parameter = p[i], gradient = direction(g[i], parameter);
    const T s = fused(share * gradient, gradient, alpha * square[i]);
    T m = T(0), variance = s;
    if constexpr (centered) {
      m = fused(share, gradient - mean[i], mean[i]);
      variance = absolute(fused(-m, m, s));  // rounding may make it negative
    }
    T update = gradient / (root(variance) + eps);
    if constexpr (with_momentum) update = fused(keep, momentum[i], update);
    p[i] = fused(rate, update, parameter);
    square[i] = s;
    if constexpr (centered) mean[i] = m;
    if constexpr (with_momentum) momentum[i] = update;
  }
}

template <class T>
void rmsprop(const RmspropStep& step, T* p, const T* g, T* square, T* mean, T* momentum, int64_t count) {
  choose(mean, [&](auto centered) {
    choose(momentum, [&](auto with_momentum) {
      choose(step.weight_decay != 0, [&](auto decays) {
        rmsprop_run<centered.value, with_momentum.value, decays.value>(step, p, g, square, mean, momentum,
                                                                       count);
      });
    });
  });
}

template <bool decays, class T>
void adagrad_run(const AdagradStep& step, T* p, const T* g, T* sum, int64_t count) {
  const Direction<decays, T> direction(step.maximize, step.weight_decay);
  const T rate = static_cast<T>(-step.lr), eps = static_cast<T>(step.eps);
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T parameter = p[i], gradient = direction(g[i], parameter);
    const T total = fused(gradient, gradient, sum[i]);
    p[i] = fused(rate, gradient / (root(total) + eps), parameter);
    sum[i] = total;
  }
}

template <class T>
void adagrad(const AdagradStep& step, T* p, const T* g, T* sum, int64_t count) {
  choose(step.weight_decay != 0, [&](auto decays) { adagrad_run<decays.value>(step, p, g, sum, count); });
}

template <class T>
void lion(const LionStep& step, T* p, const T* g, T* mean, int64_t count) {
  const Direction<false, T> direction_of(step.maximize, 0);
  const T shrink = static_cast<T>(step.shrink), rate = static_cast<T>(-step.lr);
  const T share1 = static_cast<T>(1 - step.beta1), share2 = static_cast<T>(1 - step.beta2);
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T parameter = p[i], m = mean[i], gradient = direction_of(g[i], parameter);
    const T update = fused(share1, gradient - m, m);
    const T direction = update > T(0) ? T(1) : update < T(0) ? T(-1) : update;  // NaN must show
    p[i] = fused(shrink, parameter, rate * direction);
    mean[i] = fused(share2, gradient - m, m);
  }
}

template <class T>
constexpr OptimizerFunctions<T> functions{sgd<T>, adam<T>, rmsprop<T>, adagrad<T>, lion<T>};

}  // namespace

extern const OptimizerKernels optimizer_table;
const OptimizerKernels optimizer_table{functions<float>, functions<double>};

}  // namespace tern::simd::TERN_ISA
