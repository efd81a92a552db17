#include <tern/distributed/shared_memory_group.h>

#include <utility>

#include <sched.h>

namespace tern::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// A rank that waits looks for trouble that often.
constexpr Duration look_around(50);

int usable_processors() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

SharedMemoryGroup::SharedMemoryGroup(std::unique_ptr<Segment> segment, int rank, int size,
                                     const ProcessGroupOptions& options)
    : QueuedGroup(rank, size, options),
      segment_(std::move(segment)),
      may_spin_(usable_processors() >= size) {}

SharedMemoryGroup::~SharedMemoryGroup() {
  stop();
  segment_->member(rank()).has_left = true;
}

std::string SharedMemoryGroup::spread_failure(const Call&, const std::string& message) {
  return segment_->fail(message);
}

SharedMemoryGroup::Turn SharedMemoryGroup::begin(const Call& call) const {
  return {call, Clock::now() + timeout()};
}

void SharedMemoryGroup::compare() {
  const auto called = [&](int r) -> const WireCall& { return segment_->member(r).calls[step_ & 1]; };
  bool all_equal = true;
  for (int r = 0; r < size(); ++r) all_equal &= called(r) == called(rank());
  if (all_equal) return;
  std::vector<WireCall> calls;
  calls.reserve(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) calls.push_back(called(r));
  throw DistributedError(disagreement(*this, calls));
}

// With a processor for each rank, spinning is fastest, but not for long: a thousand turns in place of a
// hundred were measured as several times slower, on a virtual machine with others at work. Then whoever is
// waited for may need this processor.
void SharedMemoryGroup::wait(const Turn& turn, Signal& signal, uint32_t target, int peer) {
  constexpr int spins = 100, yields = 50;
  for (int i = 0; may_spin_ && i < spins; ++i) {
    if (signal.reached(target)) return;
    relax();
  }
  for (int i = 0; i < yields; ++i) {
    if (signal.reached(target)) return;
    ::sched_yield();
  }
  if (!signal.reached(target)) wait_long(turn, signal, target, peer);
}

void SharedMemoryGroup::wait_long(const Turn& turn, Signal& signal, uint32_t target, int peer) {
  while (true) {
    signal.sleep(target, look_around);
    if (signal.reached(target)) return;
    if (is_stopping()) fail(turn, "the group was destroyed meanwhile");
    if (const std::optional<std::string> failure = segment_->failure()) throw DistributedError(*failure);
    check_alive(turn, signal, target, peer);
    if (Clock::now() >= turn.deadline)
      fail(turn, "timed out after " + std::to_string(timeout().count()) + " ms on " + list_of({rank()}) +
                     ", " + missing(signal, peer) + " had not arrived");
  }
}

void SharedMemoryGroup::check_alive(const Turn& turn, const Signal& signal, uint32_t target, int peer) {
  const Member& member = segment_->member(peer);
  const bool has_left = member.has_left;
  const bool has_died = !has_left && process_start(member.process) != member.process_start;
  if ((!has_left && !has_died) || signal.reached(target)) return;  // it may have done its part before it went
  if (has_left) fail(turn, list_of({peer}) + " has left the group");
  fail(turn, list_of({peer}) + " has died (process " + std::to_string(member.process) + ")");
}

void SharedMemoryGroup::fail(const Turn& turn, const std::string& reason) const {
  throw DistributedError(full_text(*this, turn.call) + " of group '" + name() + "' failed: " + reason);
}

std::string SharedMemoryGroup::missing(const Signal& signal, int peer) const {
  if (&signal != &segment_->member(peer).posted) return list_of({peer});
  std::vector<int> members;
  for (int r = 0; r < size(); ++r)
    if (!segment_->member(r).posted.reached(step_)) members.push_back(r);
  return list_of(members);
}

}  // namespace tern::distributed
