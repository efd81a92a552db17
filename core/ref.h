// Shared ownership with the count inside the object: one pointer wide, one allocation.
#pragma once

#include <tern/core/small_pool.h>

#include <atomic>
#include <cstddef>
#include <utility>

namespace tern {

/// Base of everything that is held by `Ref`. Objects come from the small-object pool, so that making and
/// dropping one costs no call of the system's heap in steady state.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  static void* operator new(size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* pointer, size_t bytes) { pool_free(pointer, bytes); }

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) const_cast<RefCounted*>(this)->destroy();
  }
  int64_t references() const { return references_.load(std::memory_order_acquire); }

 protected:
  /// Called when the last owner lets go. A type whose members form long chains overrides it, so that the
  /// chain is taken down in a loop and not by recursion.
  virtual void destroy() { delete this; }

 private:
  mutable std::atomic<int64_t> references_{0};
};

/// An owner of a `RefCounted`; copying shares.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* pointer) : pointer_(pointer) {
    if (pointer_) pointer_->retain();
  }
  Ref(const Ref& other) : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  ~Ref() {
    if (pointer_) pointer_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }

 private:
  T* pointer_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace tern
