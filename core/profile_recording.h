// What profile scopes leave behind (core/profile.h): a recording, on from its construction to stop().
//
// Threads write without locks into memory of their own, which they take from the recording in pieces of
// `ProfileRecording::piece` events. A recording belongs to one thread; the scopes may be anybody's, and may
// open and close while it starts, stops and is read.
#pragma once

#include <tern/core/profile.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern {

/// A scope that has closed. Times are in nanoseconds, `start` since the recording's.
struct ProfileEvent {
  const char* name;
  const void* subject;
  int64_t start, duration;
  int64_t self;   ///< the duration without that of the recorded scopes inside, on the same thread
  int32_t depth;  ///< how many scopes were open around it
  ProfileKind kind;
};

/// The events of one thread, in the order in which they ended.
struct ProfileThread {
  std::string name;  ///< "main", "thread 2", or what name_this_thread() said
  int64_t id;        ///< the system's number
  std::vector<ProfileEvent> events;
};

class ProfileRecording {
 public:
  static constexpr int64_t piece = 1024;

  /// Keeps at most `max_events` events of all threads together, 48 bytes each, and counts the others. (Room
  /// that one thread has taken and not yet filled is not there for others: up to piece - 1 events each.)
  /// Throws Error when max_events is below 1, and while another recording is on.
  explicit ProfileRecording(int64_t max_events);
  ~ProfileRecording() { stop(); }
  ProfileRecording(const ProfileRecording&) = delete;
  ProfileRecording& operator=(const ProfileRecording&) = delete;

  /// The second time, does nothing.
  void stop();
  /// Nanoseconds from start to stop, or to now.
  int64_t duration() const;
  /// A copy of what there is so far, in the order in which the threads came. Names of events live as long as
  /// the recording.
  std::vector<ProfileThread> threads() const;
  /// How many events found no room.
  int64_t dropped() const;

  struct State;  ///< internal

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tern
