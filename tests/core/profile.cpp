#include <tern/core/error.h>
#include <tern/core/profile_recording.h>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>

using namespace tern;

namespace {

// Until the clock has moved on.
void spend_time() {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(2)) {
  }
}

void leaf(const char* name) {
  const ProfileScope scope(name);
  spend_time();
}

std::vector<ProfileEvent> events_of(const ProfileRecording& recording) {
  std::vector<ProfileEvent> all;
  for (const ProfileThread& thread : recording.threads())
    all.insert(all.end(), thread.events.begin(), thread.events.end());
  return all;
}

}  // namespace

TEST_CASE("nothing records by default, and scopes outside a recording leave nothing") {
  CHECK_FALSE(is_profiling());
  leaf("before");
  ProfileRecording recording(100);
  CHECK(is_profiling());
  recording.stop();
  CHECK_FALSE(is_profiling());
  leaf("after");
  CHECK(recording.threads().empty());
  CHECK(recording.dropped() == 0);
}

TEST_CASE("a scope's own time is its time without the scopes inside, on each level") {
  ProfileRecording recording(100);
  {
    const ProfileScope outer("outer", ProfileKind::module);
    spend_time();
    {
      const OperationScope middle("middle");
      leaf("a");
      leaf("b");
    }
    leaf("c");
  }
  const auto threads = recording.threads();
  REQUIRE(threads.size() == 1);
  const auto& events = threads[0].events;
  REQUIRE(events.size() == 5);
  const auto& [a, b, middle, c, outer] = std::tie(events[0], events[1], events[2], events[3], events[4]);
  const std::array<const char*, 5> names{"a", "b", "middle", "c", "outer"};
  for (size_t i = 0; i < names.size(); ++i) CHECK(std::strcmp(events[i].name, names[i]) == 0);
  CHECK(a.self == a.duration);
  CHECK(middle.self == middle.duration - a.duration - b.duration);
  CHECK(outer.self == outer.duration - middle.duration - c.duration);
  CHECK(outer.depth == 0);
  CHECK(middle.depth == 1);
  CHECK(b.depth == 2);
  CHECK(outer.kind == ProfileKind::module);
  CHECK(middle.kind == ProfileKind::operation);
  for (const ProfileEvent& event : events) {
    CHECK(event.duration > 0);
    CHECK(event.start >= outer.start);
    CHECK(event.start + event.duration <= outer.start + outer.duration);
  }
  CHECK(outer.start >= 0);
  CHECK(outer.start + outer.duration <= recording.duration());
}

TEST_CASE("an exception closes the scopes that it leaves") {
  ProfileRecording recording(100);
  {
    const ProfileScope outer("outer");
    try {
      const ProfileScope middle("middle");
      const ProfileScope inner("inner");
      throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
    }
    leaf("next");
  }
  const auto events = events_of(recording);
  REQUIRE(events.size() == 4);
  CHECK(events[0].depth == 2);
  CHECK(events[1].depth == 1);
  CHECK(std::strcmp(events[2].name, "next") == 0);
  CHECK(events[2].depth == 1);
}

TEST_CASE("a second recording is an Error while one is on, and leaves that one as it is") {
  ProfileRecording first(100);
  CHECK_THROWS_WITH_AS(ProfileRecording(100), doctest::Contains("another one is recording"), Error);
  leaf("still");
  first.stop();
  CHECK(events_of(first).size() == 1);
  const ProfileRecording second(100);
  leaf("anew");
  first.stop();  // of one that is over: nothing to the other
  CHECK(is_profiling());
  CHECK(events_of(first).size() == 1);
  CHECK(events_of(second).size() == 1);
}

TEST_CASE("max_events bounds what is kept, exactly on one thread, and the rest is counted") {
  static_assert(sizeof(ProfileEvent) == 48, "as the headers say");
  for (const int64_t most : {int64_t{1}, int64_t{3}, ProfileRecording::piece, ProfileRecording::piece + 5}) {
    CAPTURE(most);
    ProfileRecording recording(most);
    for (int64_t i = 0; i < most + 7; ++i) {
      const ProfileScope scope("x");
    }
    CHECK(static_cast<int64_t>(events_of(recording).size()) == most);
    CHECK(recording.dropped() == 7);
  }
  for (const int64_t none : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()})
    CHECK_THROWS_WITH_AS(ProfileRecording{none}, doctest::Contains("max_events"), Error);
  const ProfileRecording endless(std::numeric_limits<int64_t>::max());
  leaf("x");
  CHECK(events_of(endless).size() == 1);
}

TEST_CASE("own times stay true where scopes inside found no room") {
  ProfileRecording recording(1);
  leaf("kept");
  {
    const ProfileScope outer("outer");
    leaf("dropped");
  }
  CHECK(recording.dropped() == 2);
}

TEST_CASE("each thread has its own list, name and number") {
  constexpr int threads = 4, scopes = 3000;  // several pieces
  ProfileRecording recording(1'000'000);
  leaf("here");
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([i] {
      if (i > 0) name_this_thread("worker", i);
      for (int k = 0; k < scopes; ++k) {
        const ProfileScope outer("outer");
        const ProfileScope inner("inner");
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const auto found = recording.threads();
  REQUIRE(found.size() == threads + 1);
  CHECK(found[0].name == "main");
  std::set<std::string> names;
  std::set<int64_t> numbers;
  for (const ProfileThread& thread : found) {
    names.insert(thread.name), numbers.insert(thread.id);
    if (thread.name == "main") continue;
    CHECK(thread.events.size() == 2 * scopes);
    for (size_t k = 0; k < thread.events.size(); ++k) CHECK(thread.events[k].depth == (k % 2 == 0 ? 1 : 0));
  }
  CHECK(names.size() == threads + 1);
  CHECK(names.contains("worker 3"));
  CHECK(numbers.size() >= 2);  // the system may use a number again
}

TEST_CASE("max_events bounds all threads together") {
  constexpr int64_t most = 5000;
  ProfileRecording recording(most);
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([] {
      for (int k = 0; k < 4000; ++k) const ProfileScope scope("x");
    });
  }
  for (std::thread& worker : workers) worker.join();
  const auto kept = static_cast<int64_t>(events_of(recording).size());
  CHECK(kept <= most);
  CHECK(kept > most - 3 * ProfileRecording::piece);
  CHECK(kept + recording.dropped() == 12000);
}

TEST_CASE("recordings start, stop, are read and go away while other threads run scopes") {
  std::atomic<bool> done = false;
  std::atomic<int64_t> rounds = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      const std::string copied = "copied";
      while (!done) {
        const ProfileScope outer("outer");
        const ProfileScope inner(copied);
        ++rounds;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    ProfileRecording recording(100'000);
    for (const int64_t before = rounds; rounds < before + 20;) std::this_thread::yield();
    const size_t running = events_of(recording).size();
    if (i % 2) recording.stop();
    const size_t stopped = events_of(recording).size();
    CHECK(running <= stopped);
    if (i % 2) CHECK(events_of(recording).size() == stopped);
    for (const ProfileEvent& event : events_of(recording)) {
      CHECK((event.depth == 0 || std::strcmp(event.name, "copied") == 0));
      CHECK(event.self <= event.duration);
    }
  }
  done = true;
  for (std::thread& worker : workers) worker.join();
}

TEST_CASE("what is open at the start or at the end is not recorded, nor counted in another recording") {
  std::optional<ProfileScope> before(std::in_place, "before");
  std::optional<ProfileRecording> first(std::in_place, 100);
  before.reset();
  std::optional<ProfileScope> across(std::in_place, "across");
  leaf("inside");
  first->stop();
  CHECK(events_of(*first).size() == 1);
  first.reset();
  const ProfileRecording second(100);
  leaf("second");
  across.reset();
  leaf("third");
  const auto events = events_of(second);
  REQUIRE(events.size() == 2);
  CHECK(std::strcmp(events[0].name, "second") == 0);
  CHECK(events[1].depth == 0);
}

TEST_CASE("names of std::string are copied, equal ones once") {
  const ProfileRecording recording(100);
  for (int i = 0; i < 4; ++i) const ProfileScope scope("part " + std::to_string(i % 2));
  const auto events = events_of(recording);
  REQUIRE(events.size() == 4);
  CHECK(std::strcmp(events[3].name, "part 1") == 0);
  CHECK(events[1].name == events[3].name);
}
