#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/dropout.h>
#include <tern/kernels/softmax.h>

namespace tern {

// y = softmax(x); dx = y * (dy - sum(dy * y)).
Tensor softmax(const Tensor& x, int64_t dim) {
  Tensor y = kernels::softmax(x, dim);
  return record("softmax", y, {x}, [y = SavedTensor(y), dim](const Tensor& dy) -> Gradients {
    return {kernels::softmax_backward(dy, y.get(), dim)};
  });
}

// y = log(softmax(x)); dx = dy - exp(y) * sum(dy).
Tensor log_softmax(const Tensor& x, int64_t dim) {
  Tensor y = kernels::log_softmax(x, dim);
  return record("log_softmax", y, {x}, [y = SavedTensor(y), dim](const Tensor& dy) -> Gradients {
    return {kernels::log_softmax_backward(dy, y.get(), dim)};
  });
}

// dlogits = w[t] (softmax(logits) - onehot(t)) dloss / divisor, with the smoothed distribution in place of
// onehot(t).
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  const kernels::CrossEntropyOptions kernel{options.ignore_index, options.label_smoothing, options.reduction};
  const kernels::CrossEntropy forward =
      kernels::cross_entropy_forward(logits, target, options.weight, kernel);
  return record(
      "cross_entropy", forward.loss, {logits},
      [logits = SavedTensor(logits), target = SavedTensor(target), weight = SavedTensor(options.weight),
       log_sum_exp = forward.log_sum_exp, divisor = forward.divisor, kernel](const Tensor& dy) -> Gradients {
        return {kernels::cross_entropy_backward(dy, logits.get(), target.get(), weight.get(),
                                                {Tensor(), log_sum_exp, divisor}, kernel)};
      });
}

// y = x m / (1 - p); dx = dy m / (1 - p), with the same mask m, made again from the same random numbers.
Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  check(p >= 0 && p <= 1, "dropout: p must be from 0 to 1, got ", p);
  if (!training || p == 0) return x;
  const RandomState state = (generator ? *generator : default_generator(x.device())).reserve(x.numel());
  return record("dropout", kernels::dropout(x, p, state), {x},
                [p, state](const Tensor& dy) -> Gradients { return {kernels::dropout(dy, p, state)}; });
}

}  // namespace tern
