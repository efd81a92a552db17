#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/softmax.h>

namespace tern {

// y = softmax(x); dx = y * (dy - sum(dy * y)).
Tensor softmax(const Tensor& x, int64_t dim) {
  const OperationScope scope("softmax");
  Tensor y = kernels::softmax(x, dim);
  return record("softmax", y, {x}, [y = SavedTensor(y), dim](const Tensor& dy) -> Gradients {
    return {kernels::softmax_backward(dy, y.get(), dim)};
  });
}

// y = log(softmax(x)); dx = dy - exp(y) * sum(dy).
Tensor log_softmax(const Tensor& x, int64_t dim) {
  const OperationScope scope("log_softmax");
  Tensor y = kernels::log_softmax(x, dim);
  return record("log_softmax", y, {x}, [y = SavedTensor(y), dim](const Tensor& dy) -> Gradients {
    return {kernels::log_softmax_backward(dy, y.get(), dim)};
  });
}

}  // namespace tern
