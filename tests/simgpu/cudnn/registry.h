// What the API hands out: numbers that look like pointers, none of them ever used twice. So a use after
// destruction is known for what it is, and nobody can look inside. Any thread may use a registry.

#pragma once

#include <tern/tests/simgpu/cudnn/failure.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace simdnn {

template <class T>
class Registry {
 public:
  /// `kind` names the things in messages; `first` is where the numbers start.
  Registry(const char* kind, uintptr_t first) : kind_(kind), first_(first), next_(first) {}

  void* add(std::shared_ptr<T> thing) {
    const std::lock_guard lock(mutex_);
    void* number = reinterpret_cast<void*>(next_);  // NOLINT(performance-no-int-to-ptr)
    next_ += 16;
    things_[number] = std::move(thing);
    return number;
  }

  std::shared_ptr<T> get(const void* number) const {
    const std::lock_guard lock(mutex_);
    check(number);
    return things_.at(number);
  }

  void remove(const void* number) {
    const std::lock_guard lock(mutex_);
    check(number);
    things_.erase(number);
  }

  int64_t size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(things_.size());
  }

 private:
  void check(const void* number) const {
    demand(number != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the " + kind_ + " is null");
    if (things_.count(number) != 0) return;
    const auto value = reinterpret_cast<uintptr_t>(number);
    const bool is_old = value >= first_ && value < next_ && (value - first_) % 16 == 0;
    demand(false, is_old ? "the " + kind_ + " is destroyed" : "this is no " + kind_);
  }

  std::string kind_;
  uintptr_t first_, next_;
  mutable std::mutex mutex_;
  std::map<const void*, std::shared_ptr<T>> things_;
};

}  // namespace simdnn
