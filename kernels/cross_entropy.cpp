#include <tern/kernels/cross_entropy.h>

#include <tern/kernels/class_rows.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/softmax.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// What both directions share about one dtype's data. Rows lie one after the other.
template <class T>
struct Problem {
  const simd::SoftmaxLoops<T>& loops;
  ClassRows rows;
  const T* logits;
  const int64_t* target;
  const T* weight;  // or null
  int64_t ignore_index;
  double smoothing;

  bool counts(int64_t row) const { return target[row] != ignore_index; }
  T weight_of(int64_t c) const { return weight ? weight[c] : T(1); }
  const T* row_of(int64_t row) const { return logits + row * rows.classes; }
  T log_sum_exp(int64_t row) const { return loops.log_sum_exp(row_of(row), rows.classes); }

  // (1 - s) w[t] (-log p[t]) + s / C sum of w[c] (-log p[c]).
  double loss(int64_t row, T normalizer) const {
    const T* const x = row_of(row);
    const int64_t t = target[row];
    const double hard = static_cast<double>(weight_of(t)) * static_cast<double>(normalizer - x[t]);
    if (smoothing == 0) return hard;
    double soft = 0;
    for (int64_t c = 0; c < rows.classes; ++c)
      soft += static_cast<double>(weight_of(c)) * static_cast<double>(normalizer - x[c]);
    return (1 - smoothing) * hard + smoothing / static_cast<double>(rows.classes) * soft;
  }

  // dlogit[c] = scale (p[c] mass - share[c]), where share is the smoothed target times the weights and mass
  // its sum.
  void gradient(int64_t row, T normalizer, T scale, T* dlogits) const {
    const T even = static_cast<T>(smoothing / static_cast<double>(rows.classes));
    const T hard = static_cast<T>(1 - smoothing) * weight_of(target[row]);
    T mass = hard;
    for (int64_t c = 0; smoothing != 0 && c < rows.classes; ++c) mass += even * weight_of(c);
    T* const to = dlogits + row * rows.classes;
    loops.scaled_exp(row_of(row), rows.classes, normalizer, scale * mass, to);
    for (int64_t c = 0; smoothing != 0 && c < rows.classes; ++c) to[c] -= scale * even * weight_of(c);
    to[target[row]] -= scale * hard;
  }
};

// Calls body(Problem) for float32 or float64 data.
template <class Body>
void dispatch_problem(const ClassRows& rows, const Tensor& logits, const Tensor& target, const Tensor& weight,
                      const CrossEntropyOptions& options, Body&& body) {
  const auto call = [&]<class T>(const simd::SoftmaxLoops<T>& loops) {
    body(Problem<T>{loops, rows, logits.data<T>(), target.data<int64_t>(),
                    weight.defined() ? weight.data<T>() : nullptr, options.ignore_index,
                    options.label_smoothing});
  };
  if (logits.dtype() == float64)
    call(simd::softmax_kernels().float64);
  else
    call(simd::softmax_kernels().float32);
}

Tensor dense(const Tensor& x) { return x.defined() ? to(contiguous(x), computing_dtype(x.dtype())) : x; }

// [N, C, d1, …] as [N, d1, …, C]: for channels-last images without a copy.
Layout classes_last(const Layout& layout) {
  if (layout.dim() < 3) return layout;
  Shape order{0};
  for (int64_t i = 2; i < layout.dim(); ++i) order.push_back(i);
  order.push_back(1);
  return layout.permute(order);
}

// And back.
Layout classes_second(const Layout& layout) {
  if (layout.dim() < 3) return layout;
  Shape order{0, layout.dim() - 1};
  for (int64_t i = 1; i < layout.dim() - 1; ++i) order.push_back(i);
  return layout.permute(order);
}

Tensor rows_first(const Tensor& logits) { return dense(logits.with_layout(classes_last(logits.layout()))); }

template <class T>
void forward(const Problem<T>& p, const CrossEntropyOptions& options, const Tensor& losses,
             const CrossEntropy& result) {
  T* const normalizers = result.log_sum_exp.data<T>();
  T* const each = options.reduction == Reduction::none ? losses.data<T>() : nullptr;
  const WeightedLoss sum = sum_of_rows(p.rows, [&](int64_t row) -> WeightedLoss {
    const bool counts = p.counts(row);
    normalizers[row] = counts ? p.log_sum_exp(row) : T(0);
    const double loss = counts ? p.loss(row, normalizers[row]) : 0;
    if (each) each[row] = static_cast<T>(loss);
    return {loss, counts ? static_cast<double>(p.weight_of(p.target[row])) : 0};
  });
  *result.divisor.data<double>() = sum.weight;
  const double loss = options.reduction == Reduction::mean ? sum.loss / sum.weight : sum.loss;
  if (!each) *losses.data<T>() = static_cast<T>(loss);
}

template <class T>
void backward(const Problem<T>& p, const CrossEntropyOptions& options, const Tensor& dloss,
              const CrossEntropy& forward, const Tensor& dlogits) {
  const T* const upstream = dloss.data<T>();
  const T* const normalizers = forward.log_sum_exp.data<T>();
  T* const to = dlogits.data<T>();
  const bool mean = options.reduction == Reduction::mean, each = options.reduction == Reduction::none;
  const double divisor = mean ? *forward.divisor.data<double>() : 1;
  parallel_for(p.rows.count, p.rows.block(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (!p.counts(row) || divisor == 0) {
        std::fill_n(to + row * p.rows.classes, p.rows.classes, T(0));
        continue;
      }
      const double scale = static_cast<double>(upstream[each ? row : 0]) / divisor;
      p.gradient(row, normalizers[row], static_cast<T>(scale), to);
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
  const DType computed = computing_dtype(logits.dtype());
  CrossEntropy result{Tensor(), empty(target.shape(), computed, logits.device()),
                      empty({}, float64, logits.device())};
  const Tensor losses = empty(loss_shape, computed, logits.device());
  dispatch_problem({rows.count, rows.classes, 1}, rows_first(logits), labels, dense(weight), options,
                   [&](const auto& problem) { forward(problem, options, losses, result); });
  result.loss = to(losses, logits.dtype());
  return result;
}

Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& target,
                              const Tensor& weight, const CrossEntropy& forward,
                              const CrossEntropyOptions& options) {
  const ClassRows rows = class_rows("cross_entropy", logits, target, weight);
  const Tensor input = rows_first(logits), upstream = dense(dloss);
  const Tensor dlogits = empty(input.shape(), input.dtype(), logits.device());
  dispatch_problem({rows.count, rows.classes, 1}, input, contiguous(target), dense(weight), options,
                   [&](const auto& problem) { backward(problem, options, upstream, forward, dlogits); });
  const Tensor gradient = to(dlogits, logits.dtype());
  return gradient.with_layout(classes_second(gradient.layout()));
}

}  // namespace tern::kernels
