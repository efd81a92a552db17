#include <tern/autograd/operand.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/pointwise.h>

namespace tern {
namespace {

// As in PyTorch: what true - true would be is nobody's guess.
void refuse_bool(const char* operation, bool found) {
  check(!found, operation, ": bool is not subtracted; use logical_xor or logical_not");
}

bool is_bool(const Tensor& x) { return x.dtype() == boolean; }

}  // namespace

// y = a + b; da = dy, db = dy.
Tensor add(const Tensor& a, const Tensor& b) {
  const OperationScope scope("add");
  return record("add", kernels::add(a, b), {a, b},
                [left = Operand(a), right = Operand(b)](const Tensor& dy, Wants wants) -> Gradients {
                  return {wants[0] ? left.gradient(dy) : Tensor(), wants[1] ? right.gradient(dy) : Tensor()};
                });
}

// y = a - b; da = dy, db = -dy.
Tensor sub(const Tensor& a, const Tensor& b) {
  const OperationScope scope("sub");
  refuse_bool("sub", is_bool(a) || is_bool(b));
  return record("sub", kernels::sub(a, b), {a, b},
                [left = Operand(a), right = Operand(b)](const Tensor& dy, Wants wants) -> Gradients {
                  return {wants[0] ? left.gradient(dy) : Tensor(),
                          wants[1] ? kernels::neg(right.gradient(dy)) : Tensor()};
                });
}

// y = a b; da = dy b, db = dy a.
Tensor mul(const Tensor& a, const Tensor& b) {
  const OperationScope scope("mul");
  return record(
      "mul", kernels::mul(a, b), {a, b},
      [left = Operand(a), right = Operand(b), a = SavedTensor(b.requires_grad() ? a : Tensor()),
       b = SavedTensor(a.requires_grad() ? b : Tensor())](const Tensor& dy, Wants wants) -> Gradients {
        return {wants[0] ? left.gradient(kernels::mul(dy, b.get())) : Tensor(),
                wants[1] ? right.gradient(kernels::mul(dy, a.get())) : Tensor()};
      });
}

// y = a / b; da = dy / b, db = -dy a / b / b.
Tensor div(const Tensor& a, const Tensor& b) {
  const OperationScope scope("div");
  return record(
      "div", kernels::div(a, b), {a, b},
      [left = Operand(a), right = Operand(b), a = SavedTensor(b.requires_grad() ? a : Tensor()),
       b = SavedTensor(b)](const Tensor& dy, Wants wants) -> Gradients {
        const Tensor quotient = kernels::div(dy, b.get());
        return {wants[0] ? left.gradient(quotient) : Tensor(),
                wants[1]
                    ? kernels::neg(right.gradient(kernels::mul(quotient, kernels::div(a.get(), b.get()))))
                    : Tensor()};
      });
}

Tensor add(const Tensor& a, Scalar b) { return add(a, kernels::scalar_like(b, a)); }
Tensor sub(const Tensor& a, Scalar b) {
  refuse_bool("sub", b.is_boolean());
  return sub(a, kernels::scalar_like(b, a));
}
Tensor mul(const Tensor& a, Scalar b) { return mul(a, kernels::scalar_like(b, a)); }
Tensor div(const Tensor& a, Scalar b) { return div(a, kernels::scalar_like(b, a)); }
Tensor sub(Scalar a, const Tensor& b) {
  refuse_bool("sub", a.is_boolean());
  return sub(kernels::scalar_like(a, b), b);
}
Tensor div(Scalar a, const Tensor& b) { return div(kernels::scalar_like(a, b), b); }

const Tensor& add_(const Tensor& x, const Tensor& y) {
  const OperationScope scope("add_");
  check_writable("add_", x, y);
  kernels::binary_(Add{}, x, y);
  record_in_place("add_", x, {y}, [right = Operand(y)](const Tensor& dy, Wants wants) -> Gradients {
    return {dy, wants[1] ? right.gradient(dy) : Tensor()};
  });
  return x;
}

const Tensor& sub_(const Tensor& x, const Tensor& y) {
  const OperationScope scope("sub_");
  refuse_bool("sub_", is_bool(x) || is_bool(y));
  check_writable("sub_", x, y);
  kernels::binary_(Sub{}, x, y);
  record_in_place("sub_", x, {y}, [right = Operand(y)](const Tensor& dy, Wants wants) -> Gradients {
    return {dy, wants[1] ? kernels::neg(right.gradient(dy)) : Tensor()};
  });
  return x;
}

// The former x is needed only for dy of y.
const Tensor& mul_(const Tensor& x, const Tensor& y) {
  const OperationScope scope("mul_");
  check_writable("mul_", x, y);
  const Tensor before = is_grad_enabled() && y.requires_grad() ? kernels::clone(x) : Tensor();
  const SavedTensor operand(y);  // before the write: where y shares memory with x, backward must refuse
  kernels::binary_(Mul{}, x, y);
  record_in_place("mul_", x, {y},
                  [left = Operand(x), right = Operand(y), before = SavedTensor(before), y = operand](
                      const Tensor& dy, Wants wants) -> Gradients {
                    return {wants[0] ? left.gradient(kernels::mul(dy, y.get())) : Tensor(),
                            wants[1] ? right.gradient(kernels::mul(dy, before.get())) : Tensor()};
                  });
  return x;
}

const Tensor& div_(const Tensor& x, const Tensor& y) {
  const OperationScope scope("div_");
  check_writable("div_", x, y);
  const Tensor before = is_grad_enabled() && y.requires_grad() ? kernels::clone(x) : Tensor();
  const SavedTensor operand(y);  // before the write: where y shares memory with x, backward must refuse
  kernels::binary_(Div{}, x, y);
  record_in_place("div_", x, {y},
                  [left = Operand(x), right = Operand(y), before = SavedTensor(before), y = operand](
                      const Tensor& dy, Wants wants) -> Gradients {
                    const Tensor quotient = kernels::div(dy, y.get());
                    return {wants[0] ? left.gradient(quotient) : Tensor(),
                            wants[1] ? kernels::neg(right.gradient(
                                           kernels::mul(quotient, kernels::div(before.get(), y.get()))))
                                     : Tensor()};
                  });
  return x;
}

const Tensor& add_(const Tensor& x, Scalar y) { return add_(x, kernels::scalar_like(y, x)); }
const Tensor& sub_(const Tensor& x, Scalar y) {
  refuse_bool("sub_", y.is_boolean());
  return sub_(x, kernels::scalar_like(y, x));
}
const Tensor& mul_(const Tensor& x, Scalar y) { return mul_(x, kernels::scalar_like(y, x)); }
const Tensor& div_(const Tensor& x, Scalar y) { return div_(x, kernels::scalar_like(y, x)); }

const Tensor& copy_(const Tensor& x, const Tensor& src) {
  const OperationScope scope("copy_");
  check_writable("copy_", x, src);
  kernels::copy(src, x);
  record_in_place("copy_", x, {src}, [source = Operand(src)](const Tensor& dy, Wants wants) -> Gradients {
    return {Tensor(), wants[1] ? source.gradient(dy) : Tensor()};
  });
  return x;
}

const Tensor& fill_(const Tensor& x, Scalar value) {
  const OperationScope scope("fill_");
  check_writable("fill_", x);
  kernels::fill(x, value);
  record_in_place("fill_", x, {}, [](const Tensor&) -> Gradients { return {Tensor()}; });
  return x;
}

const Tensor& zero_(const Tensor& x) { return fill_(x, 0); }

}  // namespace tern
