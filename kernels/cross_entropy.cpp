#include <tern/kernels/cross_entropy.h>

#include <tern/kernels/class_rows.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/exp_rows.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern::kernels {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// What both directions share about one dtype's data.
template <class T>
struct Problem {
  using W = Wide<T>;
  ClassRows rows;
  const T* logits;
  const int64_t* target;
  const T* weight;  // or null
  int64_t ignore_index;
  double smoothing;

  bool counts(int64_t row) const { return target[row] != ignore_index; }
  W weight_of(int64_t c) const { return weight ? static_cast<W>(weight[c]) : W(1); }
  W logit(int64_t row, int64_t c) const { return static_cast<W>(logits[rows.start(row) + c * rows.inner]); }

  W log_sum_exp(int64_t row) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (is_vector_row<T>(rows.classes, rows.inner))
        return row_log_sum_exp(logits + rows.start(row), rows.classes);
    }
    W largest = -std::numeric_limits<W>::infinity(), sum = 0;
    for (int64_t c = 0; c < rows.classes; ++c) {
      const W value = logit(row, c);
      largest = value > largest || value != value ? value : largest;
    }
    for (int64_t c = 0; c < rows.classes; ++c) sum += std::exp(logit(row, c) - largest);
    return largest + std::log(sum);
  }

  // (1 - s) w[t] (-log p[t]) + s / C sum of w[c] (-log p[c]).
  double loss(int64_t row, W normalizer) const {
    const int64_t t = target[row];
    const double hard = static_cast<double>(weight_of(t)) * static_cast<double>(normalizer - logit(row, t));
    if (smoothing == 0) return hard;
    double soft = 0;
    for (int64_t c = 0; c < rows.classes; ++c) {
      soft += static_cast<double>(weight_of(c)) * static_cast<double>(normalizer - logit(row, c));
    }
    return (1 - smoothing) * hard + smoothing / static_cast<double>(rows.classes) * soft;
  }

  // dlogit[c] = scale (p[c] mass - share[c]), where share is the smoothed target times the weights and mass
  // its sum.
  void gradient(int64_t row, W normalizer, W scale, T* dlogits) const {
    const W even = static_cast<W>(smoothing / static_cast<double>(rows.classes));
    const W hard = static_cast<W>(1 - smoothing) * weight_of(target[row]);
    W mass = hard;
    for (int64_t c = 0; smoothing != 0 && c < rows.classes; ++c) mass += even * weight_of(c);
    if constexpr (std::is_floating_point_v<T>) {
      if (is_vector_row<T>(rows.classes, rows.inner)) {
        T* const to = dlogits + rows.start(row);
        row_exp(logits + rows.start(row), normalizer, to, rows.classes);
        for (int64_t c = 0; c < rows.classes; ++c)
          to[c] = scale * (to[c] * mass - (smoothing == 0 ? T(0) : even * weight_of(c)));
        to[target[row]] -= scale * hard;
        return;
      }
    }
    for (int64_t c = 0; c < rows.classes; ++c) {
      const W share = even * weight_of(c) + (c == target[row] ? hard : W(0));
      dlogits[rows.start(row) + c * rows.inner] =
          static_cast<T>(scale * (std::exp(logit(row, c) - normalizer) * mass - share));
    }
  }
};

template <class T>
Problem<T> problem_of(const ClassRows& rows, const Tensor& logits, const Tensor& target, const Tensor& weight,
                      const CrossEntropyOptions& options) {
  return {rows,
          logits.data<T>(),
          target.data<int64_t>(),
          weight.defined() ? weight.data<T>() : nullptr,
          options.ignore_index,
          options.label_smoothing};
}

Tensor dense(const Tensor& x) { return x.defined() ? contiguous(x) : x; }

template <class T>
void forward(const Problem<T>& p, const CrossEntropyOptions& options, const CrossEntropy& result) {
  using W = Wide<T>;
  W* normalizers = result.log_sum_exp.data<W>();
  T* each = options.reduction == Reduction::none ? result.loss.data<T>() : nullptr;
  const WeightedLoss sum = sum_of_rows(p.rows, [&](int64_t row) -> WeightedLoss {
    const bool counts = p.counts(row);
    normalizers[row] = counts ? p.log_sum_exp(row) : W(0);
    const double loss = counts ? p.loss(row, normalizers[row]) : 0;
    if (each) each[row] = static_cast<T>(static_cast<W>(loss));
    return {loss, counts ? static_cast<double>(p.weight_of(p.target[row])) : 0};
  });
  *result.divisor.data<double>() = sum.weight;
  const double loss = options.reduction == Reduction::mean ? sum.loss / sum.weight : sum.loss;
  if (!each) *result.loss.data<T>() = static_cast<T>(static_cast<W>(loss));
}

template <class T>
void backward(const Problem<T>& p, const CrossEntropyOptions& options, const Tensor& dloss,
              const CrossEntropy& forward, const Tensor& dlogits) {
  using W = Wide<T>;
  const T* upstream = dloss.data<T>();
  const W* normalizers = forward.log_sum_exp.data<W>();
  T* to = dlogits.data<T>();
  const bool mean = options.reduction == Reduction::mean, each = options.reduction == Reduction::none;
  const double divisor = mean ? *forward.divisor.data<double>() : 1;
  parallel_for(p.rows.count, p.rows.block(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (!p.counts(row) || divisor == 0) {
        for (int64_t c = 0; c < p.rows.classes; ++c) to[p.rows.start(row) + c * p.rows.inner] = T(0);
        continue;
      }
      const auto scale = static_cast<double>(static_cast<W>(upstream[each ? row : 0])) / divisor;
      p.gradient(row, normalizers[row], static_cast<W>(scale), to);
    }
  });
}

}  // namespace

CrossEntropy cross_entropy_forward(const Tensor& logits, const Tensor& target, const Tensor& weight,
                                   const CrossEntropyOptions& options) {
  check(options.label_smoothing >= 0 && options.label_smoothing <= 1,
        "cross_entropy: label_smoothing must be from 0 to 1, got ", options.label_smoothing);
  const ClassRows rows = class_rows("cross_entropy", logits, target, weight);
  const Tensor labels = contiguous(target);
  check_targets("cross_entropy", labels, rows, options.ignore_index);
  const Shape loss_shape = options.reduction == Reduction::none ? target.shape() : Shape{};
  CrossEntropy result{empty(loss_shape, logits.dtype(), logits.device()),
                      empty(target.shape(), logits.dtype() == float64 ? float64 : float32, logits.device()),
                      empty({}, float64, logits.device())};
  const Tensor input = contiguous(logits), class_weight = dense(weight);
  dispatch_floating(logits.dtype(), "cross_entropy", [&]<class T>() {
    forward(problem_of<T>(rows, input, labels, class_weight, options), options, result);
  });
  return result;
}

Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& target,
                              const Tensor& weight, const CrossEntropy& forward,
                              const CrossEntropyOptions& options) {
  const ClassRows rows = class_rows("cross_entropy", logits, target, weight);
  Tensor dlogits = empty(logits.shape(), logits.dtype(), logits.device());
  const Tensor upstream = contiguous(dloss), input = contiguous(logits), labels = contiguous(target),
               class_weight = dense(weight);
  dispatch_floating(logits.dtype(), "cross_entropy", [&]<class T>() {
    backward(problem_of<T>(rows, input, labels, class_weight, options), options, upstream, forward, dlogits);
  });
  return dlogits;
}

}  // namespace tern::kernels
