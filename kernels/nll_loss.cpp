#include <tern/kernels/nll_loss.h>

#include <tern/kernels/class_rows.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>

namespace tern::kernels {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// One dtype's data.
template <class T>
struct Problem {
  using W = Wide<T>;
  ClassRows rows;
  const T* x;
  const int64_t* target;
  const T* weight;  // or null
  int64_t ignore_index;

  int64_t place(int64_t row) const { return rows.start(row) + target[row] * rows.inner; }
  bool counts(int64_t row) const { return target[row] != ignore_index; }
  W weight_of(int64_t row) const { return weight ? static_cast<W>(weight[target[row]]) : W(1); }
};

template <class T>
Problem<T> problem_of(const ClassRows& rows, const T* x, const Tensor& target, const Tensor& weight,
                      int64_t ignore_index) {
  return {rows, x, target.data<int64_t>(), weight.defined() ? weight.data<T>() : nullptr, ignore_index};
}

Tensor dense(const Tensor& x) { return x.defined() ? contiguous(x) : x; }

template <class T>
WeightedLoss forward(const Problem<T>& p, T* each) {
  return sum_of_rows(p.rows, [&p, each](int64_t row) -> WeightedLoss {
    const bool counts = p.counts(row);
    const auto weight = counts ? p.weight_of(row) : 0;
    const auto loss = counts ? -weight * static_cast<Wide<T>>(p.x[p.place(row)]) : 0;
    if (each) each[row] = static_cast<T>(loss);
    return {static_cast<double>(loss), static_cast<double>(weight)};
  });
}

}  // namespace

NllLoss nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                 Reduction reduction) {
  const ClassRows rows = class_rows("nll_loss", x, target, weight);
  const Tensor labels = contiguous(target);
  check_targets("nll_loss", labels, rows, ignore_index);
  const bool none = reduction == Reduction::none;
  NllLoss result{empty(none ? target.shape() : Shape{}, x.dtype(), x.device()), 0};
  const Tensor input = contiguous(x), class_weight = dense(weight);
  dispatch_floating(x.dtype(), "nll_loss", [&]<class T>() {
    T* const to = result.loss.data<T>();
    const auto problem = problem_of<T>(rows, input.data<T>(), labels, class_weight, ignore_index);
    const WeightedLoss sum = forward(problem, none ? to : nullptr);
    result.divisor = reduction == Reduction::mean ? sum.weight : 1;
    if (!none) *to = static_cast<T>(static_cast<Wide<T>>(sum.loss / result.divisor));
  });
  return result;
}

Tensor nll_loss_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& weight,
                         int64_t ignore_index, Reduction reduction, double divisor) {
  const ClassRows rows = class_rows("nll_loss", x, target, weight);
  const Tensor dx = zeros(x.shape(), x.dtype(), x.device());
  if (divisor == 0) return dx;
  const Tensor upstream = contiguous(dloss), labels = contiguous(target), class_weight = dense(weight);
  dispatch_floating(x.dtype(), "nll_loss", [&]<class T>() {
    using W = Wide<T>;
    const T* dy = upstream.data<T>();
    T* to = dx.data<T>();
    const auto p = problem_of<T>(rows, nullptr, labels, class_weight, ignore_index);
    parallel_for(rows.count, rows.block(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        if (!p.counts(row)) continue;
        const W scale = static_cast<W>(dy[reduction == Reduction::none ? row : 0]) / static_cast<W>(divisor);
        to[p.place(row)] = static_cast<T>(-scale * p.weight_of(row));
      }
    });
  });
  return dx;
}

}  // namespace tern::kernels
