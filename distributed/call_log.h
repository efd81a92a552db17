// The recorder of a process group: its last calls, and what became of them.
#pragma once

#include <tern/distributed/process_group.h>

#include <mutex>
#include <vector>

namespace tern::distributed {

class CallLog {
 public:
  static constexpr int64_t capacity = 1000;

  /// Notes a call that is waiting for its turn. Returns the number to speak of it by.
  int64_t add(const Call& call);
  /// Notes its new state, and the time. A call that has left the log is ignored.
  void set(int64_t number, CallState state);
  /// Oldest first.
  std::vector<CallRecord> records() const;

 private:
  mutable std::mutex mutex_;
  std::vector<CallRecord> records_;
  int64_t added_ = 0;
};

}  // namespace tern::distributed
