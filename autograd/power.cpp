// Powers of tensors and numbers.
#include <tern/autograd/operand.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/where.h>

namespace tern {
namespace {

// dy b a^(b-1), and 0 where b = 0.
Tensor base_gradient(const Tensor& dy, const Tensor& a, const Tensor& b) {
  const Tensor zero = kernels::scalar_like(0, dy), one = kernels::scalar_like(1, dy);
  const Tensor slope = kernels::mul(b, kernels::binary(Pow{}, a, kernels::sub(b, one)));
  return kernels::where(kernels::compare(Equal{}, b, zero), zero, kernels::mul(dy, slope));
}

// dy y log(a), and 0 where a = 0 and b >= 0.
Tensor exponent_gradient(const Tensor& dy, const Tensor& a, const Tensor& b, const Tensor& y) {
  const Tensor zero = kernels::scalar_like(0, dy);
  const Tensor flat = kernels::compare(LogicalAnd{}, kernels::compare(Equal{}, a, zero),
                                       kernels::compare(GreaterEqual{}, b, zero));
  const Tensor slope = kernels::mul(y, kernels::unary(Log{}, kernels::to(a, dy.dtype())));
  return kernels::where(flat, zero, kernels::mul(dy, slope));
}

Tensor power(const Tensor& a, double exponent) {
  const OperationScope scope("pow");
  return record("pow", kernels::unary(Power{exponent}, a), {a},
                [exponent, a = SavedTensor(a)](const Tensor& dy) -> Gradients {
                  return {kernels::unary_backward(Power{exponent}, a.get(), dy)};
                });
}

}  // namespace

Tensor pow(const Tensor& a, const Tensor& b) {
  const OperationScope scope("pow");
  check(a.dtype() != boolean || b.dtype() != boolean, "pow: needs a number, got two operands of bool");
  Tensor y = kernels::binary(Pow{}, a, b);
  return record(
      "pow", y, {a, b},
      [left = Operand(a), right = Operand(b), a = SavedTensor(a), b = SavedTensor(b),
       y = SavedTensor(b.requires_grad() ? y : Tensor())](const Tensor& dy, Wants wants) -> Gradients {
        return {wants[0] ? left.gradient(base_gradient(dy, a.get(), b.get())) : Tensor(),
                wants[1] ? right.gradient(exponent_gradient(dy, a.get(), b.get(), y.get())) : Tensor()};
      });
}

Tensor pow(const Tensor& a, Scalar b) {
  const double exponent = b.to_double();
  if (is_floating_point(a.dtype())) {
    return exponent == 2 ? square(a) : exponent == 0.5 ? sqrt(a) : power(a, exponent);
  }
  check(b.is_floating_point() || exponent >= 0, "pow: an integer to the negative integer power ",
        b.to_int64());
  return pow(a, kernels::scalar_like(b, a));
}

Tensor pow(Scalar a, const Tensor& b) { return pow(kernels::scalar_like(a, b), b); }

}  // namespace tern
