#include <tern/distributed/call_log.h>

#include <algorithm>

namespace tern::distributed {

int64_t CallLog::add(const Call& call) {
  const std::lock_guard lock(mutex_);
  if (added_ < capacity)
    records_.push_back({call, CallState::queued, {}, {}});
  else
    records_[static_cast<size_t>(added_ % capacity)] = {call, CallState::queued, {}, {}};
  return added_++;
}

void CallLog::set(int64_t number, CallState state) {
  const auto now = std::chrono::system_clock::now();
  const std::lock_guard lock(mutex_);
  if (number < added_ - capacity) return;
  CallRecord& record = records_[static_cast<size_t>(number % capacity)];
  record.state = state;
  (state == CallState::running ? record.start : record.end) = now;
}

std::vector<CallRecord> CallLog::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<CallRecord> result = records_;
  if (added_ > capacity) std::rotate(result.begin(), result.begin() + added_ % capacity, result.end());
  return result;
}

}  // namespace tern::distributed
