#include <tern/kernels/cross_entropy.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern::kernels {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Logits [N, C, d1, …] as [outer, C, inner]; row r = (n, position) has its classes at distance `inner`.
struct Rows {
  int64_t count = 1, classes = 1, inner = 1;
  int64_t start(int64_t row) const { return row / inner * classes * inner + row % inner; }
  /// Rows of a block: fixed, so that sums over blocks have the same bits for any number of threads.
  int64_t block() const { return std::max<int64_t>(1, 8192 / std::max<int64_t>(classes, 1)); }
};

Rows rows_of(const Tensor& logits, const Tensor& target, const Tensor& weight) {
  const Shape& shape = logits.shape();
  check(shape.dim() >= 1, "cross_entropy: logits must be [C], [N, C] or [N, C, d1, …], got ", shape);
  check(is_floating_point(logits.dtype()), "cross_entropy: logits must be floating-point, got ",
        logits.dtype());
  check(target.dtype() == int64, "cross_entropy: target must hold class indices of int64, got ",
        target.dtype());
  const int64_t dim = shape.dim() == 1 ? 0 : 1;
  Shape expected = shape;
  expected.erase(dim);
  check(target.shape() == expected, "cross_entropy: target must be ", expected, " for logits ", shape,
        ", got ", target.shape());
  check_same_device(logits, target, "cross_entropy");
  const int64_t classes = shape[dim];
  if (weight.defined()) {
    check(weight.shape() == Shape{classes} && weight.dtype() == logits.dtype() &&
              weight.device() == logits.device(),
          "cross_entropy: weight must be [", classes, "] of ", logits.dtype(), ", got ", weight.shape(),
          " of ", weight.dtype());
  }
  Rows rows{1, classes, 1};
  for (int i = 0; i < shape.dim(); ++i) {
    if (i != dim) rows.count *= shape[i];
    if (i > dim) rows.inner *= shape[i];
  }
  return rows;
}

void check_targets(const int64_t* target, const Rows& rows, int64_t ignore_index) {
  for (int64_t row = 0; row < rows.count; ++row) {
    check(target[row] == ignore_index || (target[row] >= 0 && target[row] < rows.classes),
          "cross_entropy: the target of row ", row, " is ", target[row], ", must be from 0 to ",
          rows.classes - 1, " or ignore_index ", ignore_index);
  }
}

// What both directions share about one dtype's data.
template <class T>
struct Problem {
  using W = Wide<T>;
  Rows rows;
  const T* logits;
  const int64_t* target;
  const T* weight;  // or null
  int64_t ignore_index;
  double smoothing;

  bool counts(int64_t row) const { return target[row] != ignore_index; }
  W weight_of(int64_t c) const { return weight ? static_cast<W>(weight[c]) : W(1); }
  W logit(int64_t row, int64_t c) const { return static_cast<W>(logits[rows.start(row) + c * rows.inner]); }

  W log_sum_exp(int64_t row) const {
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
    for (int64_t c = 0; c < rows.classes; ++c) {
      const W share = even * weight_of(c) + (c == target[row] ? hard : W(0));
      dlogits[rows.start(row) + c * rows.inner] =
          static_cast<T>(scale * (std::exp(logit(row, c) - normalizer) * mass - share));
    }
  }
};

template <class T>
Problem<T> problem_of(const Rows& rows, const Tensor& logits, const Tensor& target, const Tensor& weight,
                      const CrossEntropyOptions& options) {
  return {rows,
          logits.data<T>(),
          target.data<int64_t>(),
          weight.defined() ? weight.data<T>() : nullptr,
          options.ignore_index,
          options.label_smoothing};
}

Tensor dense(const Tensor& x) { return x.defined() ? contiguous(x) : x; }

// Per block of rows the sum of losses and of weights, added in order.
template <class T>
void forward(const Problem<T>& p, const CrossEntropyOptions& options, const CrossEntropy& result) {
  using W = Wide<T>;
  const Rows& rows = p.rows;
  const int64_t blocks = (rows.count + rows.block() - 1) / rows.block();
  const Tensor sums = empty({2, std::max<int64_t>(blocks, 1)}, float64);
  double* losses = sums.data<double>();
  double* weights = losses + std::max<int64_t>(blocks, 1);
  W* normalizers = result.log_sum_exp.data<W>();
  T* each = options.reduction == Reduction::none ? result.loss.data<T>() : nullptr;
  parallel_for(rows.count, rows.block(), [&](int64_t begin, int64_t end) {
    double loss = 0, weight = 0;
    for (int64_t row = begin; row < end; ++row) {
      normalizers[row] = p.counts(row) ? p.log_sum_exp(row) : W(0);
      const double one = p.counts(row) ? p.loss(row, normalizers[row]) : 0;
      if (each) each[row] = static_cast<T>(static_cast<W>(one));
      loss += one;
      weight += p.counts(row) ? static_cast<double>(p.weight_of(p.target[row])) : 0;
    }
    losses[begin / rows.block()] = loss, weights[begin / rows.block()] = weight;
  });
  double loss = 0, weight = 0;
  for (int64_t block = 0; block < blocks; ++block) loss += losses[block], weight += weights[block];
  *result.divisor.data<double>() = weight;
  if (options.reduction == Reduction::mean) loss /= weight;
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
  const Rows rows = rows_of(logits, target, weight);
  const Tensor labels = contiguous(target);
  check_targets(labels.data<int64_t>(), rows, options.ignore_index);
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
  const Rows rows = rows_of(logits, target, weight);
  Tensor dlogits = empty(logits.shape(), logits.dtype(), logits.device());
  const Tensor upstream = contiguous(dloss), input = contiguous(logits), labels = contiguous(target),
               class_weight = dense(weight);
  dispatch_floating(logits.dtype(), "cross_entropy", [&]<class T>() {
    backward(problem_of<T>(rows, input, labels, class_weight, options), options, upstream, forward, dlogits);
  });
  return dlogits;
}

}  // namespace tern::kernels
