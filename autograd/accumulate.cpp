#include <tern/autograd/accumulate.h>
#include <tern/core/profile.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>

namespace tern::detail {
namespace {

constexpr const char* name = "accumulate_grad";

// Nobody else holds the handle or the memory.
bool is_ours_alone(const Tensor& x) { return x.impl()->references() == 1 && x.storage()->references() == 1; }

}  // namespace

void accumulate(Tensor& into, Tensor value) {
  if (!into.defined()) {
    into = std::move(value);
    return;
  }
  const OperationScope scope(name);
  if (is_ours_alone(into) && !into.layout().overlaps_itself()) {
    kernels::add_(into, value);
  } else {
    into = kernels::add(into, value);
  }
}

void accumulate_leaf(TensorImpl& leaf, Tensor value) {
  const OperationScope scope(name);
  if (leaf.grad.defined()) {
    kernels::add_(leaf.grad, value);
    return;
  }
  if (!leaf.grad_slot.defined() && is_ours_alone(value) && value.strides() == leaf.layout.strides) {
    leaf.grad = std::move(value);
    return;
  }
  const Strides strides = leaf.layout.is_dense() ? leaf.layout.strides : dense_strides(leaf.layout.shape);
  Tensor grad = leaf.grad_slot;
  if (!grad.defined()) grad = empty_strided(leaf.layout.shape, strides, value.dtype(), value.device());
  kernels::copy(value, grad);
  leaf.grad = std::move(grad);
}

}  // namespace tern::detail
