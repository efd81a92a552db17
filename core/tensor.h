// The tensor: a handle to an n-dimensional array of numbers on one device.
//
// Copying a handle shares: both name the same array, its gradient and its place in the graph. One type serves
// values with and without gradients. Members are what can be answered without computing; everything else is a
// free function found by its argument: relu(x), x + y, backward(loss). A default-made tensor is undefined;
// asking it for anything throws Error.
#pragma once

#include <tern/core/dtype.h>
#include <tern/core/layout.h>
#include <tern/core/storage.h>

#include <atomic>
#include <iosfwd>

namespace tern {

class TensorImpl;

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A view: `layout` of elements of `dtype` over `storage`. Throws Error when it reaches outside.
  Tensor(Ref<Storage> storage, const Layout& layout, DType dtype);

  bool defined() const { return static_cast<bool>(impl_); }
  const Shape& shape() const;
  const Strides& strides() const;
  const Layout& layout() const;
  /// The size of one dimension; -1 is the last.
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  int64_t dim() const;
  int64_t numel() const;
  DType dtype() const;
  Device device() const;
  bool is_contiguous() const;
  bool is_channels_last() const;

  /// The first element. Throws Error when T is not the type of the elements. Elements lie at `strides()` from
  /// there. Whoever writes through it, outside the library's operations, calls bump_version() to tell
  /// backward so.
  template <class T>
  T* data() const {
    require_dtype(dtype_of<T>());
    return static_cast<T*>(data());
  }
  void* data() const;
  const Ref<Storage>& storage() const;
  uint64_t version() const { return storage()->version(); }
  void bump_version() const { storage()->bump_version(); }

  /// The value of a tensor with one element, converted to T as to() converts. Throws Error for any other
  /// number of elements.
  template <class T>
  T item() const {
    return item_scalar<T>();
  }

  /// The same array without its past: writes show in both, gradients stop here.
  Tensor detach() const;
  /// Another layout over the same array (of the same dtype), without its past. The caller has checked the
  /// bounds.
  Tensor with_layout(const Layout& layout) const;
  /// Makes this handle's array be `other`'s: values, layout and dtype. All handles to it, its gradient and
  /// hooks stay. Throws Error when this tensor is the result of a recorded operation, and for integers while
  /// it asks for a gradient.
  void set_data(const Tensor& other) const;

  bool requires_grad() const;
  /// Asks for a gradient (or no longer). Throws Error for a dtype that is not floating-point, and for false
  /// on the result of a recorded operation. Returns *this.
  const Tensor& requires_grad_(bool on = true) const;
  /// True for what users made: not the result of a recorded operation.
  bool is_leaf() const;
  /// The accumulated gradient, or an undefined tensor while there is none. It belongs to the tensor: after
  /// its memory moves (into a bucket of DistributedDataParallel), ask again.
  Tensor grad() const;
  /// Replaces the gradient; undefined means none. Throws Error unless it has this tensor's shape, dtype and
  /// device.
  void set_grad(const Tensor& grad) const;

  const Ref<TensorImpl>& impl() const { return impl_; }
  /// True when both handles name the same tensor.
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

 private:
  TensorImpl& get() const;
  void require_dtype(DType dtype) const;
  template <class T>
  T item_scalar() const;

  Ref<TensorImpl> impl_;
};

/// What the handles share. `origin` and `hooks` belong to autograd, which alone knows their types.
class TensorImpl : public RefCounted {
 public:
  TensorImpl(Ref<Storage> memory, const Layout& where, DType type)
      : storage(std::move(memory)), layout(where), dtype(type) {}

  Ref<Storage> storage;
  Layout layout;
  DType dtype;
  bool requires_grad = false;
  /// A recorded view of it exists: in-place operations could not tell the view's past. Atomic, for threads
  /// may take views of one tensor at the same time.
  std::atomic<bool> has_views = false;
  bool is_number = false;  ///< stands for a number of the program: its dtype counts by its kind alone
  Tensor grad;
  Tensor grad_slot;  ///< where the gradient must lie once there is one (a slice of a bucket), or undefined
  Ref<RefCounted> origin;  ///< the operation that this tensor is the result of
  Ref<RefCounted> hooks;   ///< what to call when the gradient has been accumulated
};

/// A new tensor, uninitialised.
Tensor empty(const Shape& shape, DType dtype = float32, Device device = {},
             MemoryFormat format = MemoryFormat::contiguous);
/// A new tensor with the given dense strides, uninitialised.
Tensor empty_strided(const Shape& shape, const Strides& strides, DType dtype, Device device);
/// A new uninitialised tensor of x's shape, order of dimensions and device, and of `dtype`.
Tensor empty_like(const Tensor& x, DType dtype);
Tensor empty_like(const Tensor& x);

/// Prints like NumPy: values (cut to the edges above 1000 elements), then dtype, and device when it is not
/// cpu:0.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace tern
