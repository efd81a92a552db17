#include <tern/core/thread_pool.h>

#include <tern/core/build_info.h>
#include <tern/tests/core/child_process.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include <sys/resource.h>

using namespace tern;
using namespace tern::tests;

namespace {

// A number of threads for one test; the other tests get theirs back.
class Threads {
 public:
  explicit Threads(int count) : before_(get_num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

using Range = std::pair<int64_t, int64_t>;

// The calls that parallel_for makes, by their begin.
std::vector<Range> calls_of(int64_t count, int64_t block) {
  std::mutex mutex;
  std::vector<Range> calls;
  parallel_for(count, block, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    calls.emplace_back(begin, end);
  });
  std::sort(calls.begin(), calls.end());
  return calls;
}

std::vector<Range> blocks_of(int64_t count, int64_t block) {
  std::vector<Range> blocks;
  for (int64_t begin = 0; begin < count; begin += block)
    blocks.emplace_back(begin, std::min(begin + block, count));
  return blocks;
}

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

}  // namespace

TEST_CASE("parallel_for covers the range once, in the same blocks for any number of threads") {
  for (const int threads : {1, 2, 3, 8}) {
    const Threads set(threads);
    CAPTURE(threads);
    for (const int64_t count : {1, 2, 7, 64, 1000})
      for (const int64_t block : {1, 2, 3, 64, 999, 1000, 5000})
        CHECK(calls_of(count, block) == blocks_of(count, block));
  }
}

TEST_CASE("nothing is called for an empty range, and a block needs an element") {
  CHECK(calls_of(0, 1).empty());
  CHECK(calls_of(-5, 1).empty());
  CHECK(contains(error_of([] { calls_of(5, 0); }), "a block must have at least one element, got 0"));
  CHECK_THROWS_AS(calls_of(5, -1), Error);
}

TEST_CASE("ranges up to the largest number have exact blocks") {
  const int64_t half = int64_t{1} << 62;
  for (const int threads : {1, 2}) {
    const Threads set(threads);
    CHECK(calls_of(INT64_MAX, half) == std::vector<Range>{{0, half}, {half, INT64_MAX}});
    CHECK(calls_of(INT64_MAX, INT64_MAX - 1) ==
          std::vector<Range>{{0, INT64_MAX - 1}, {INT64_MAX - 1, INT64_MAX}});
    CHECK(calls_of(INT64_MAX, INT64_MAX) == std::vector<Range>{{0, INT64_MAX}});
  }
}

TEST_CASE("all threads work at once, each with its own number") {
  for (const int threads : {2, 5}) {
    const Threads set(threads);
    std::atomic<int> arrived = 0;
    std::vector<int> numbers(static_cast<size_t>(threads));
    // No block ends before each thread has one.
    parallel_for(threads, 1, [&](int64_t begin, int64_t) {
      numbers[static_cast<size_t>(begin)] = thread_index();
      ++arrived;
      while (arrived < threads) std::this_thread::yield();
    });
    std::sort(numbers.begin(), numbers.end());
    std::vector<int> expected(static_cast<size_t>(threads));
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(numbers == expected);
  }
  CHECK(thread_index() == 0);
}

TEST_CASE("an exception reaches the caller from any block, and the pool goes on") {
  for (const int threads : {1, 4}) {
    const Threads set(threads);
    for (int64_t bad = 0; bad < 20; ++bad) {
      const auto run = [&] {
        parallel_for(20, 1,
                     [&](int64_t begin, int64_t) { check_as<IoError>(begin != bad, "block ", begin); });
      };
      CHECK(contains(error_of<IoError>(run), "block " + std::to_string(bad) + " "));
    }
    CHECK(calls_of(100, 7) == blocks_of(100, 7));
  }
}

TEST_CASE("an exception on a worker's thread reaches the caller") {
  const Threads set(2);
  std::atomic<bool> thrown = false;
  const auto run = [&] {
    parallel_for(2, 1, [&](int64_t, int64_t) {
      if (thread_index() == 0) return wait_for(thrown);  // leaves the other block to the worker
      thrown = true;
      throw Error("from a worker");
    });
  };
  CHECK(error_of(run) == "from a worker");
}

TEST_CASE("one of several exceptions is thrown") {
  const Threads set(4);
  const auto run = [] { parallel_for(100, 1, [](int64_t, int64_t) { throw Error("each"); }); };
  for (int i = 0; i < 50; ++i) CHECK(error_of(run) == "each");
}

TEST_CASE("a call inside a call runs on its own thread and covers its range") {
  const Threads set(3);
  std::vector<int> hits(50 * 40);
  std::atomic<int> strayed = 0;
  parallel_for(50, 1, [&](int64_t row, int64_t) {
    const std::thread::id mine = std::this_thread::get_id();
    const int number = thread_index();
    parallel_for(40, 3, [&](int64_t begin, int64_t end) {
      strayed += std::this_thread::get_id() != mine || thread_index() != number;
      for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(row * 40 + i)];
    });
  });
  CHECK(hits == std::vector<int>(50 * 40, 1));
  CHECK(strayed == 0);
}

TEST_CASE("an exception passes through nested calls") {
  const Threads set(3);
  const auto run = [] {
    parallel_for(4, 1, [](int64_t, int64_t) {
      parallel_for(4, 1, [](int64_t begin, int64_t) { check(begin < 3, "inner"); });
    });
  };
  CHECK(contains(error_of(run), "inner"));
  CHECK(calls_of(10, 1) == blocks_of(10, 1));
}

TEST_CASE("several threads may call at once") {
  const Threads set(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int64_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int64_t round = 0; round < 200; ++round) {
        const int64_t count = 1 + (caller * 31 + round) % 60;
        std::vector<int> hits(static_cast<size_t>(count));
        parallel_for(count, 4, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
        wrong += hits != std::vector<int>(static_cast<size_t>(count), 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("who finds the pool taken works alone") {
  const Threads set(2);
  std::atomic<bool> started = false, release = false;
  std::thread holder([&] {
    parallel_for(2, 1, [&](int64_t, int64_t) {
      started = true;
      wait_for(release);
    });
  });
  wait_for(started);
  std::atomic<int> elsewhere = 0, calls = 0;
  const std::thread::id mine = std::this_thread::get_id();
  parallel_for(10, 1, [&](int64_t, int64_t) {
    ++calls;
    elsewhere += std::this_thread::get_id() != mine;
  });
  release = true;
  holder.join();
  CHECK(calls == 10);
  CHECK(elsewhere == 0);
}

TEST_CASE("the number of threads is set from 1 to 1024") {
  const Threads set(3);
  CHECK(get_num_threads() == 3);
  set_num_threads(1);
  CHECK(get_num_threads() == 1);
  for (const int count : {0, -1, 1025}) {
    CHECK(contains(error_of([&] { set_num_threads(count); }), "needs a number from 1 to 1024"));
    CHECK(get_num_threads() == 1);
  }
}

TEST_CASE("child: TERN_NUM_THREADS is 3" * doctest::skip()) { CHECK(get_num_threads() == 3); }
TEST_CASE("child: TERN_NUM_THREADS is refused" * doctest::skip()) {
  CHECK(contains(error_of([] { get_num_threads(); }), "TERN_NUM_THREADS must be a number from 1 to 1024"));
}

TEST_CASE("the environment sets the number of threads at the start") {
  check_in_child("child: TERN_NUM_THREADS is 3", {"TERN_NUM_THREADS=3"});
  for (const char* bad : {"0", "-1", "1025", "two", "2x", " 2", "99999999999"})
    check_in_child("child: TERN_NUM_THREADS is refused", {std::string("TERN_NUM_THREADS=") + bad});
}

TEST_CASE("child: the system refuses threads" * doctest::skip()) {
  // Room for the stacks of some threads, not of a thousand.
  const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  CHECK(contains(error_of([] { set_num_threads(1024); }), "of 1024 threads"));
  CHECK(get_num_threads() == 2);
  CHECK(calls_of(100, 7) == blocks_of(100, 7));
}

TEST_CASE("threads that the system refuses are an error, and the old ones stay") {
  if (sanitized) return;  // sanitizers need more addresses than any limit leaves
  check_in_child("child: the system refuses threads", {"TERN_NUM_THREADS=2"});
}
