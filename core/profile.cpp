#include <tern/core/error.h>
#include <tern/core/profile_recording.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include <unistd.h>

namespace tern {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Role {
  const char* name = nullptr;
  int number = 0;
};

thread_local Role this_role;
thread_local ProfileScope* innermost = nullptr;

using Piece = std::unique_ptr<ProfileEvent[]>;

// The events of one thread. That thread alone writes: an event first, then the count that shows it to
// readers.
struct Log {
  Role role;
  int64_t id = 0;
  std::vector<Piece> pieces;       // guarded by the state's mutex, but for the owner's reading
  int64_t room = 0;                // in all pieces
  bool full = false;               // there is no more to be had
  std::atomic<int64_t> count = 0;  // of written events
  int64_t count_at_stop = 0;
};

}  // namespace

struct ProfileRecording::State {
  uint64_t session = 0;
  int64_t started = now();
  std::atomic<int64_t> dropped = 0;

  std::mutex mutex;  // guards what follows
  int64_t stopped = 0;
  int64_t room;  // events that no thread has taken
  std::deque<Log> logs;
  std::set<std::string> names;  // those that were copied

  explicit State(int64_t max_events) : room(max_events) {}
  bool extend(Log& log);
  void append(Log& log, const ProfileEvent& event);
};

namespace {

using State = ProfileRecording::State;

// The recording that is on, if any. Never destroyed: threads may outlive all static objects.
struct Active {
  std::mutex mutex;
  std::shared_ptr<State> state;
  uint64_t sessions = 0;
};

Active& active() {
  static Active& instance = *new Active;
  return instance;
}

std::shared_ptr<State> active_state(uint64_t session) {
  std::lock_guard lock(active().mutex);
  const auto& state = active().state;
  return state && state->session == session ? state : nullptr;
}

// Where this thread writes; the log is good while the state lives.
struct Place {
  uint64_t session = 0;
  std::weak_ptr<State> state;
  Log* log = nullptr;
};

thread_local Place place;

void join(uint64_t session) {
  place = {session, {}, nullptr};
  const std::shared_ptr<State> state = active_state(session);
  if (!state) return;
  std::lock_guard lock(state->mutex);
  Log& log = state->logs.emplace_back();
  log.role = this_role, log.id = ::gettid();
  place.state = state, place.log = &log;
}

std::string thread_name(const Log& log, size_t number) {
  if (log.role.name) return std::string(log.role.name) + " " + std::to_string(log.role.number);
  return log.id == ::getpid() ? "main" : "thread " + std::to_string(number);
}

}  // namespace

bool ProfileRecording::State::extend(Log& log) {
  std::lock_guard lock(mutex);
  const int64_t events = std::min(piece, room);
  if (events == 0) return false;
  log.pieces.push_back(std::make_unique_for_overwrite<ProfileEvent[]>(static_cast<size_t>(events)));
  log.room += events, room -= events;
  return true;
}

void ProfileRecording::State::append(Log& log, const ProfileEvent& event) {
  const int64_t count = log.count.load(std::memory_order_relaxed);
  if (count == log.room && !log.full) log.full = !extend(log);
  if (log.full) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  log.pieces[static_cast<size_t>(count / piece)][static_cast<size_t>(count % piece)] = event;
  log.count.store(count + 1, std::memory_order_release);
}

namespace detail {
std::atomic<uint64_t> profile_session = 0;
}

void name_this_thread(const char* role, int number) { this_role = {role, number}; }

void ProfileScope::begin(const char* name, ProfileKind kind, const void* subject) {
  session_ = detail::profile_session.load(std::memory_order_relaxed);
  if (session_ == 0) return;
  name_ = name, kind_ = kind, subject_ = subject;
  outer_ = std::exchange(innermost, this);
  depth_ = outer_ ? outer_->depth_ + 1 : 0;
  inside_ = 0;
  start_ = now();
}

void ProfileScope::begin_copied(const std::string& name) {
  const uint64_t session = detail::profile_session.load(std::memory_order_relaxed);
  const std::shared_ptr<State> state = active_state(session);
  if (!state) return;
  const char* copy = nullptr;
  {
    std::lock_guard lock(state->mutex);
    copy = state->names.insert(name).first->c_str();
  }
  begin(copy, ProfileKind::user);
  if (session_ != 0) session_ = session;  // the copy lives no longer than that recording
}

void ProfileScope::end() noexcept {
  const int64_t duration = now() - start_;
  innermost = outer_;
  if (outer_) outer_->inside_ += duration;
  if (detail::profile_session.load(std::memory_order_relaxed) != session_) return;
  std::shared_ptr<State> state;
  try {
    if (place.session != session_) join(session_);
    state = place.state.lock();
    if (!state) return;
    state->append(*place.log,
                  {name_, subject_, start_ - state->started, duration, duration - inside_, depth_, kind_});
  } catch (const std::bad_alloc&) {
    if (state) state->dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

ProfileRecording::ProfileRecording(int64_t max_events) {
  check(max_events >= 1, "profiler: max_events must be at least 1, got ", max_events);
  auto state = std::make_shared<State>(max_events);
  std::lock_guard lock(active().mutex);
  check(!active().state, "profiler: another one is recording; stop() it first");
  state->session = ++active().sessions;
  active().state = state_ = std::move(state);
  detail::profile_session.store(state_->session, std::memory_order_relaxed);
}

void ProfileRecording::stop() {
  {
    std::lock_guard lock(active().mutex);
    if (active().state != state_) return;
    detail::profile_session.store(0, std::memory_order_relaxed);
    active().state = nullptr;
  }
  std::lock_guard lock(state_->mutex);
  state_->stopped = now();
  // A thread that is just ending a scope may still write; that event is not shown.
  for (Log& log : state_->logs) log.count_at_stop = log.count.load(std::memory_order_acquire);
}

int64_t ProfileRecording::duration() const {
  std::lock_guard lock(state_->mutex);
  return (state_->stopped ? state_->stopped : now()) - state_->started;
}

std::vector<ProfileThread> ProfileRecording::threads() const {
  std::vector<ProfileThread> result;
  std::lock_guard lock(state_->mutex);
  for (const Log& log : state_->logs) {
    const int64_t count = state_->stopped ? log.count_at_stop : log.count.load(std::memory_order_acquire);
    ProfileThread& thread = result.emplace_back();
    thread.name = thread_name(log, result.size()), thread.id = log.id;
    thread.events.reserve(static_cast<size_t>(count));
    for (int64_t at = 0; at < count; at += piece) {
      const ProfileEvent* events = log.pieces[static_cast<size_t>(at / piece)].get();
      thread.events.insert(thread.events.end(), events, events + std::min(piece, count - at));
    }
  }
  return result;
}

int64_t ProfileRecording::dropped() const { return state_->dropped.load(std::memory_order_relaxed); }

}  // namespace tern
