// The handles that a stand-in library gives out: which live, and what is wrong with the others.
#pragma once

#include <tern/tests/simgpu/library.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace simgpu {

/// Objects are never freed, so that a handle's address is never given out twice and a destroyed one is always
/// known.
template <class T>
class Handles {
 public:
  explicit Handles(const char* kind) : kind_(kind) {
    at_exit_check(kind, [this] { return live(); });
  }

  T* create() {
    const std::lock_guard lock(mutex_);
    T* handle = &objects_.emplace_back();
    is_live_[handle] = true;
    return handle;
  }

  /// The handle itself if it may be used in `call`; else nullptr, after a report.
  T* checked(T* handle, const char* call) {
    const std::lock_guard lock(mutex_);
    const auto found = is_live_.find(handle);
    if (found != is_live_.end() && found->second) return handle;
    const char* fault = handle == nullptr         ? " is null"
                        : found == is_live_.end() ? " was never created"
                                                  : " is already destroyed";
    report_misuse(call, std::string("the ") + kind_ + fault);
    return nullptr;
  }

  bool destroy(T* handle, const char* call) {
    if (checked(handle, call) == nullptr) return false;
    const std::lock_guard lock(mutex_);
    is_live_[handle] = false;
    return true;
  }

  int64_t live() {
    const std::lock_guard lock(mutex_);
    return std::count_if(is_live_.begin(), is_live_.end(), [](const auto& entry) { return entry.second; });
  }

 private:
  const char* kind_;
  std::mutex mutex_;
  std::deque<T> objects_;
  std::unordered_map<T*, bool> is_live_;
};

}  // namespace simgpu
