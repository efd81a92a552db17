#include <tern/autograd/convert.h>

#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>

namespace tern {

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const OperationScope scope("to");
  Tensor y = kernels::to(x, dtype);
  if (!is_floating_point(dtype)) return y;
  return record("to", y, {x},
                [from = x.dtype()](const Tensor& dy) -> Gradients { return {kernels::to(dy, from)}; });
}

Tensor to(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  const OperationScope scope("to");
  return record("to", kernels::to(x, device), {x},
                [from = x.device()](const Tensor& dy) -> Gradients { return {kernels::to(dy, from)}; });
}

Tensor clone(const Tensor& x) {
  const OperationScope scope("clone");
  return record("clone", kernels::clone(x), {x}, [](const Tensor& dy) -> Gradients { return {dy}; });
}

Tensor contiguous(const Tensor& x, MemoryFormat format) {
  const OperationScope scope("contiguous");
  Tensor y = kernels::contiguous(x, format);
  if (y.is_same(x)) return x;
  return record("contiguous", y, {x}, [](const Tensor& dy) -> Gradients { return {dy}; });
}

}  // namespace tern
