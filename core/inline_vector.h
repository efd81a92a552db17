// A vector whose first N elements lie inside it; beyond them it takes memory from the small-object pool.
#pragma once

#include <tern/core/error.h>
#include <tern/core/small_pool.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

namespace tern {

/// Holds the inputs and gradients of an operation without a heap call for the usual few. Element access is
/// unchecked; pointers and references are valid until the next push_back.
template <class T, size_t N>
class InlineVector {
 public:
  InlineVector() {}  // NOLINT(modernize-use-equals-default): a defaulted one would have the others below fill
                     // inline_ with zeros
  // Each starts as an empty vector, which is then destroyed should copying an element throw.
  InlineVector(std::initializer_list<T> values) : InlineVector() { append(values.begin(), values.end()); }
  InlineVector(size_t count, const T& value) : InlineVector() {
    reserve(count);
    while (size_ < count) push_back(value);
  }
  template <std::forward_iterator Iterator>
  InlineVector(Iterator first, Iterator last) : InlineVector() {
    append(first, last);
  }
  InlineVector(const InlineVector& other) : InlineVector() { append(other.begin(), other.end()); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  ~InlineVector() { reset(); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) *this = InlineVector(other);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) reset(), take(other);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }

  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    T* bigger = static_cast<T*>(pool_allocate(capacity * sizeof(T)));
    std::uninitialized_move(begin(), end(), bigger);
    std::destroy(begin(), end());
    free_memory();
    data_ = bigger, capacity_ = capacity;
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    new (data_ + size_) T(std::move(value));
    ++size_;
  }
  void resize(size_t size) {
    reserve(size);
    while (size_ < size) new (data_ + size_++) T();
    while (size_ > size) data_[--size_].~T();
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }

 private:
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(T(*first));
  }
  bool inside() const { return data_ == reinterpret_cast<const T*>(inline_); }
  void free_memory() {
    if (!inside()) pool_free(data_, capacity_ * sizeof(T));
  }
  void reset() {
    clear();
    free_memory();
    data_ = reinterpret_cast<T*>(inline_), capacity_ = N;
  }
  // Leaves `other` empty; this vector must be empty and without memory of its own.
  void take(InlineVector& other) {
    if (other.inside()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
    } else {
      data_ = std::exchange(other.data_, reinterpret_cast<T*>(other.inline_));
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
    }
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_ = reinterpret_cast<T*>(inline_);
  size_t size_ = 0, capacity_ = N;
};

}  // namespace tern
