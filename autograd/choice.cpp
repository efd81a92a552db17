// Operations that take each element from one operand or another.
#include <tern/autograd/operand.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/where.h>

namespace tern {
namespace {

// The larger or smaller of two: an operand for which `loses` holds gets no gradient; where both are equal
// each gets half of dy, as in PyTorch.
template <class Math, class LoserComparison>
Tensor extreme(const Math& math, LoserComparison loses, const Tensor& a, const Tensor& b) {
  const OperationScope scope(Math::name);
  return record(Math::name, kernels::binary(math, a, b), {a, b},
                [loses, left = Operand(a), right = Operand(b), a = SavedTensor(a), b = SavedTensor(b)](
                    const Tensor& dy, Wants wants) -> Gradients {
                  const Tensor half = kernels::mul(dy, kernels::scalar_like(0.5, dy));
                  const Tensor shared = kernels::where(kernels::compare(Equal{}, a.get(), b.get()), half, dy);
                  const auto gradient = [&](const Operand& operand, const Tensor& own, const Tensor& other) {
                    const Tensor lost = kernels::compare(loses, own, other);
                    return operand.gradient(kernels::where(lost, kernels::scalar_like(0, dy), shared));
                  };
                  return {wants[0] ? gradient(left, a.get(), b.get()) : Tensor(),
                          wants[1] ? gradient(right, b.get(), a.get()) : Tensor()};
                });
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return extreme(Maximum{}, Less{}, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return extreme(Minimum{}, Greater{}, a, b); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const OperationScope scope("where");
  return record("where", kernels::where(condition, a, b), {a, b},
                [left = Operand(a), right = Operand(b), condition = SavedTensor(condition)](
                    const Tensor& dy, Wants wants) -> Gradients {
                  const Tensor zero = kernels::scalar_like(0, dy);
                  return {wants[0] ? left.gradient(kernels::where(condition.get(), dy, zero)) : Tensor(),
                          wants[1] ? right.gradient(kernels::where(condition.get(), zero, dy)) : Tensor()};
                });
}

Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  return where(condition, a, kernels::scalar_like(b, a));
}
Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  return where(condition, kernels::scalar_like(a, b), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  const OperationScope scope("masked_fill");
  check(broadcast_shapes(x.shape(), mask.shape(), "masked_fill") == x.shape(), "masked_fill: mask of shape ",
        mask.shape(), " does not broadcast to ", x.shape());
  value.check_fits(x.dtype(), "masked_fill");
  Tensor filler = empty({}, x.dtype(), x.device());
  kernels::fill(filler, value);
  return where(mask, filler, x);
}

}  // namespace tern
