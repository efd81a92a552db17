#include <tern/core/tensor.h>

#include <tern/core/saturate.h>

namespace tern {
namespace {

// Nothing that the layout leads to lies outside `capacity` elements. Places beyond 64 bits are outside too.
bool lies_within(const Layout& layout, int64_t capacity) {
  if (layout.strides.dim() != layout.dim() || layout.offset < 0 || layout.offset > capacity) return false;
  if (layout.numel() == 0) return true;
  int64_t last = layout.offset, reach = 0;
  for (int i = 0; i < layout.dim(); ++i) {
    if (layout.shape[i] == 1) continue;
    if (layout.strides[i] < 0 || __builtin_mul_overflow(layout.strides[i], layout.shape[i] - 1, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last < capacity;
}

}  // namespace

Tensor::Tensor(Ref<Storage> storage, const Layout& layout, DType dtype) {
  check(storage, "tensor: there is no storage");
  const auto capacity = static_cast<int64_t>(storage->bytes() / size_of(dtype));
  check(lies_within(layout, capacity), "tensor: shape ", layout.shape, " with strides ", layout.strides,
        " and offset ", layout.offset, " reaches outside a storage of ", capacity, " elements");
  impl_ = make_ref<TensorImpl>(std::move(storage), layout, dtype);
}

TensorImpl& Tensor::get() const {
  check(defined(), "the tensor is undefined: it was made by Tensor() and never assigned, or moved from");
  return *impl_;
}

const Shape& Tensor::shape() const { return get().layout.shape; }
const Strides& Tensor::strides() const { return get().layout.strides; }
const Layout& Tensor::layout() const { return get().layout; }
int64_t Tensor::dim() const { return get().layout.dim(); }
int64_t Tensor::numel() const { return get().layout.numel(); }
DType Tensor::dtype() const { return get().dtype; }
Device Tensor::device() const { return get().storage->device(); }
bool Tensor::is_contiguous() const { return get().layout.is_contiguous(); }
bool Tensor::is_channels_last() const { return get().layout.is_channels_last(); }
const Ref<Storage>& Tensor::storage() const { return get().storage; }

int64_t Tensor::size(int64_t dim) const {
  check(this->dim() > 0, "size: a tensor without dimensions has no dimension ", dim);
  return shape()[normalize_dim(dim, this->dim(), "size")];
}

int64_t Tensor::stride(int64_t dim) const {
  check(this->dim() > 0, "stride: a tensor without dimensions has no dimension ", dim);
  return strides()[normalize_dim(dim, this->dim(), "stride")];
}

void* Tensor::data() const {
  const TensorImpl& impl = get();
  return static_cast<char*>(impl.storage->data()) +
         impl.layout.offset * static_cast<int64_t>(size_of(impl.dtype));
}

void Tensor::require_dtype(DType dtype) const {
  check(this->dtype() == dtype, "data: the tensor holds ", this->dtype(), ", not ", dtype);
}

template <class T>
T Tensor::item_scalar() const {
  check(numel() == 1, "item: needs a tensor with one element, got shape ", shape());
  check(device().is_cpu(), "item: the tensor is on ", device());
  return dispatch(dtype(), [&]<class Element>() {
    const Element value = *data<Element>();
    if constexpr (std::is_integral_v<Element>)
      return static_cast<T>(value);
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return saturate<T>(static_cast<std::conditional_t<sizeof(Element) == 8, double, float>>(value));
    else
      return static_cast<T>(static_cast<std::conditional_t<sizeof(Element) == 8, double, float>>(value));
  });
}
template float Tensor::item_scalar<float>() const;
template double Tensor::item_scalar<double>() const;
template int64_t Tensor::item_scalar<int64_t>() const;
template int32_t Tensor::item_scalar<int32_t>() const;
template uint8_t Tensor::item_scalar<uint8_t>() const;
template bool Tensor::item_scalar<bool>() const;

Tensor Tensor::detach() const { return with_layout(layout()); }

Tensor Tensor::with_layout(const Layout& layout) const {
  return Tensor(make_ref<TensorImpl>(get().storage, layout, dtype()));
}

void Tensor::set_data(const Tensor& other) const {
  check(is_leaf(), "set_data: the tensor is the result of an operation that backward will visit");
  check(!requires_grad() || is_floating_point(other.dtype()),
        "set_data: only floating-point tensors have gradients, the new data are ", other.dtype());
  get().storage = other.get().storage;
  get().layout = other.get().layout;
  get().dtype = other.get().dtype;
}

bool Tensor::requires_grad() const { return get().requires_grad; }

const Tensor& Tensor::requires_grad_(bool on) const {
  check(!on || is_floating_point(dtype()),
        "requires_grad_: only floating-point tensors have gradients, this one is ", dtype());
  check(on || is_leaf(), "requires_grad_: the tensor is the result of an operation; detach() it");
  get().requires_grad = on;
  return *this;
}

bool Tensor::is_leaf() const { return !get().origin; }

Tensor Tensor::grad() const { return get().grad; }

void Tensor::set_grad(const Tensor& grad) const {
  TensorImpl& impl = get();
  if (grad.defined()) {
    check(!grad.is_same(*this), "set_grad: a tensor cannot be its own gradient");
    check(grad.shape() == shape(), "set_grad: the gradient has shape ", grad.shape(), ", the tensor ",
          shape());
    check(grad.dtype() == dtype(), "set_grad: the gradient is ", grad.dtype(), ", the tensor ", dtype());
    check(grad.device() == device(), "set_grad: the gradient is on ", grad.device(), ", the tensor on ",
          device());
  }
  impl.grad = grad;
}

Tensor empty_strided(const Shape& shape, const Strides& strides, DType dtype, Device device) {
  check_device(device);
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(shape.numel(), static_cast<int64_t>(size_of(dtype)), &bytes), "empty: shape ",
        shape, " of ", dtype, " has more than 2^63 - 1 bytes");
  const Layout layout(shape, strides);
  check(lies_within(layout, layout.numel()), "empty: strides ", strides, " reach outside the ",
        layout.numel(), " elements of shape ", shape);
  auto storage = make_ref<Storage>(static_cast<size_t>(bytes), device);
  return Tensor(make_ref<TensorImpl>(std::move(storage), layout, dtype));
}

Tensor empty(const Shape& shape, DType dtype, Device device, MemoryFormat format) {
  return empty_strided(shape, dense_strides(shape, format), dtype, device);
}

Tensor empty_like(const Tensor& x, DType dtype) {
  return empty_strided(x.shape(), x.layout().strides_like(), dtype, x.device());
}

Tensor empty_like(const Tensor& x) { return empty_like(x, x.dtype()); }

}  // namespace tern
