#include <tern/distributed/process_group.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <ostream>
#include <utility>

namespace tern::distributed {
namespace {

bool debug_asks_for_detail() {
  const char* const level = std::getenv("TERN_DISTRIBUTED_DEBUG");
  if (level == nullptr) return false;
  const std::string_view word = level;
  check(word == "detail" || word == "off" || word.empty(),
        "TERN_DISTRIBUTED_DEBUG must be detail or off, got ", word);
  return word == "detail";
}

std::vector<int> counted(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

struct Default {
  std::mutex mutex;
  std::shared_ptr<ProcessGroup> group;
};

Default& the_default() {
  static Default value;
  return value;
}

}  // namespace

std::string_view name(ReduceOp op) {
  static constexpr std::string_view names[] = {"sum", "avg", "min", "max", "product"};
  return names[static_cast<size_t>(op)];
}

std::ostream& operator<<(std::ostream& out, ReduceOp op) { return out << name(op); }

std::ostream& operator<<(std::ostream& out, const Call& call) {
  out << call.operation << " (sequence " << call.sequence;
  if (call.operation != std::string_view("barrier")) {
    out << ", " << call.dtype << ", " << call.shape;
    if (call.op) out << ", " << *call.op;
  }
  return out << ')';
}

void ProcessGroup::check_arguments(int rank, int size, const ProcessGroupOptions& options) {
  check(size >= 1, "process group: size must be at least 1, got ", size);
  check(rank >= 0 && rank < size, "process group: rank must be from 0 to ", size - 1, ", got ", rank);
  check(options.timeout > Duration(0), "process group: timeout must be positive, got ",
        options.timeout.count(), " ms");
  if (options.ranks.empty()) return;
  check(options.ranks.size() == static_cast<size_t>(size), "process group: ranks must name ", size,
        " ranks, got ", options.ranks.size());
  std::vector<int> sorted = options.ranks;
  std::sort(sorted.begin(), sorted.end());
  check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() && sorted.front() >= 0,
        "process group: ranks must be different and not negative");
}

ProcessGroup::ProcessGroup(int rank, int size, const ProcessGroupOptions& options)
    : rank_(rank),
      size_(size),
      name_(options.name),
      timeout_(options.timeout),
      ranks_(options.ranks.empty() ? counted(size) : options.ranks),
      compares_calls_(debug_asks_for_detail()) {}

int ProcessGroup::rank_of(int rank, const char* operation) const {
  const auto at = std::find(ranks_.begin(), ranks_.end(), rank);
  check(at != ranks_.end(), operation, ": rank ", rank, " is not in group '", name_, "' of ", size_,
        " ranks");
  return static_cast<int>(at - ranks_.begin());
}

std::shared_ptr<ProcessGroup> default_group() {
  Default& value = the_default();
  const std::lock_guard lock(value.mutex);
  check(value.group != nullptr, "there is no default process group: init_process_group was not called");
  return value.group;
}

bool has_default_group() {
  Default& value = the_default();
  const std::lock_guard lock(value.mutex);
  return value.group != nullptr;
}

void set_default_group(std::shared_ptr<ProcessGroup> group) {
  Default& value = the_default();
  std::unique_lock lock(value.mutex);
  value.group.swap(group);
  lock.unlock();  // the old group's end may take a moment
}

}  // namespace tern::distributed
