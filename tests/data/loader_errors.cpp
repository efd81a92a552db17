#include <tern/core/build_info.h>
#include <tern/tests/core/child_process.h>
#include <tern/tests/data/data_testing.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include <sys/resource.h>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Calls `action` before it gives sample 7.
struct Bad {
  std::function<void()> action;
  int64_t size() const { return 40; }
  Tensor get(int64_t index) const {
    if (index == 7) action();
    return scalar(index);
  }
};

// A door that a hanging sample waits at, and how many have passed it.
struct Door {
  std::atomic<bool> open{false};
  std::atomic<int> passed{0};
  void wait() {
    while (!open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++passed;
  }
};

template <class E>
std::string message_of(const std::function<void()>& action, int workers) {
  DataLoader loader(Bad{action}, {.batch_size = 2, .num_workers = workers});
  const auto start = Clock::now();
  std::string text = "no error";
  int batches = 0;
  try {
    for ([[maybe_unused]] auto& batch : loader) ++batches;
  } catch (const E& error) {
    text = error.what();
  }
  CHECK(seconds_since(start) < 1);
  CHECK(batches == 3);
  return text;
}

std::string nested_message_of(const std::exception& error) {
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& inner) {
    return inner.what();
  }
  return "nothing nested";
}

}  // namespace

TEST_CASE("a worker's error reaches the loop with its sample, its worker and its type") {
  const auto io_error = [] { throw IoError("disk on fire"); };
  const auto other = [] { throw std::out_of_range("no such key"); };
  CHECK(message_of<IoError>(io_error, 0) == "DataLoader: sample 7: disk on fire");
  for (const int workers : {1, 3}) {
    const std::string text = message_of<IoError>(io_error, workers);
    CHECK(contains(text, "DataLoader: sample 7, worker "));
    CHECK(contains(text, ": disk on fire"));
  }
  CHECK(message_of<IoError>(io_error, 1) == "DataLoader: sample 7, worker 0: disk on fire");
  CHECK(message_of<CudaError>([] { throw CudaError("c"); }, 1) == "DataLoader: sample 7, worker 0: c");
  CHECK(message_of<DistributedError>([] { throw DistributedError("d"); }, 1) ==
        "DataLoader: sample 7, worker 0: d");
  CHECK(message_of<Error>(other, 1) == "DataLoader: sample 7, worker 0: no such key");
  CHECK(message_of<Error>([] { throw 3; }, 1) ==
        "DataLoader: sample 7, worker 0: an exception that is no std::exception");
}

TEST_CASE("the original error is nested in the one that the loop throws") {
  DataLoader loader(Bad{[] { throw std::out_of_range("no such key"); }}, {.num_workers = 2});
  try {
    for ([[maybe_unused]] auto& batch : loader) CHECK(batch.numel() == 1);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(nested_message_of(error) == "no such key");
  }
}

TEST_CASE("of several errors the loop meets the one of the earliest batch") {
  struct Broken {
    int64_t size() const { return 40; }
    Tensor get(int64_t index) const {
      if (index == 7) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      check(index < 7, "broken");
      return scalar(index);
    }
  };
  for (const int workers : {0, 1, 4}) {
    DataLoader loader(Broken{}, {.batch_size = 2, .num_workers = workers});
    const std::string text = error_of([&] {
      for ([[maybe_unused]] auto& batch : loader) {
      }
    });
    CHECK(contains(text, "DataLoader: sample 7"));
  }
}

TEST_CASE("a loader can be used again after an error") {
  const auto fail = std::make_shared<std::atomic<bool>>(true);
  const auto action = [fail] { check(!*fail, "not yet"); };
  for (const int workers : {0, 3}) {
    *fail = true;
    DataLoader loader(Bad{action}, {.batch_size = 4, .num_workers = workers});
    CHECK_THROWS_AS(for ([[maybe_unused]] auto& batch : loader){}, Error);
    CHECK(loader.state() == DataLoaderState{0, 1});
    *fail = false;
    int64_t samples = 0;
    for (auto& batch : loader) samples += batch.numel();
    CHECK(samples == 40);
  }
}

TEST_CASE("a sample that hangs ends in an error that names it, and in a loader that can be left") {
  const auto door = std::make_shared<Door>();
  const auto start = Clock::now();
  {
    DataLoader loader(Bad{[door] { door->wait(); }}, {.batch_size = 2, .num_workers = 2, .timeout = 0.5});
    const std::string text = error_of([&] {
      for ([[maybe_unused]] auto& batch : loader) {
      }
    });
    CHECK(contains(text, "batch 3 did not come within the time-out of 0.5 s: sample 7, worker "));
    CHECK(contains(text, " hangs"));
    CHECK(seconds_since(start) < 2);
    CHECK(door->passed == 0);
  }
  CHECK(seconds_since(start) < 3);
  door->open = true;
  while (door->passed < 1) std::this_thread::yield();
}

TEST_CASE("after a time-out the next loop starts with new workers") {
  const auto door = std::make_shared<Door>();
  DataLoader loader(Bad{[door] { door->wait(); }}, {.num_workers = 1, .timeout = 0.3});
  CHECK_THROWS_AS(for ([[maybe_unused]] auto& batch : loader){}, Error);
  door->open = true;
  int64_t samples = 0;
  for (auto& batch : loader) samples += batch.numel();
  CHECK(samples == 40);
  while (door->passed < 2) std::this_thread::yield();
}

TEST_CASE("leaving a loop early is quick and ends all threads") {
  struct Slow {
    std::shared_ptr<std::atomic<int>> loaded = std::make_shared<std::atomic<int>>(0);
    int64_t size() const { return 1000; }
    Tensor get(int64_t index) const {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++*loaded;
      return scalar(index);
    }
  };
  const Slow dataset;
  const auto start = Clock::now();
  {
    DataLoader loader(dataset, {.batch_size = 10, .num_workers = 3});
    int batches = 0;
    for ([[maybe_unused]] auto& batch : loader)
      if (++batches == 2) break;
  }
  CHECK(seconds_since(start) < 2);
  CHECK(dataset.loaded.use_count() == 1);
  CHECK(*dataset.loaded < 200);
}

TEST_CASE("an exception in the loop's body leaves the loader usable") {
  DataLoader loader(Numbers{20}, {.batch_size = 4, .num_workers = 2});
  CHECK_THROWS_AS(for ([[maybe_unused]] auto& batch : loader) throw Error("body"), Error);
  CHECK(pass_of(loader).size() == 5);
}

TEST_CASE("samples that differ in kind do not stack") {
  struct Mixed {
    int64_t size() const { return 2; }
    Tensor get(int64_t index) const { return index ? scalar(1.0F) : scalar(int64_t{1}); }
  };
  DataLoader loader(Mixed{}, {.batch_size = 2});
  CHECK(contains(error_of([&] { loader.begin(); }),
                 "sample 1: batch: tensor 0 of the sample has shape [] and "
                 "dtype float32, that of the first sample"));
}

TEST_CASE("child: the system refuses workers" * doctest::skip()) {
  // Room for the stacks of some threads, not of a thousand.
  const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  DataLoader loader(Numbers{20}, {.batch_size = 4, .num_workers = 1024});
  const std::string text = error_of([&] { pass_of(loader); });
  CHECK(contains(text, "DataLoader: the system gave "));
  CHECK(contains(text, " of 1024 workers: "));
  CHECK(loader.state() == DataLoaderState{0, 0});  // no pass has begun
  DataLoader smaller(Numbers{20}, {.batch_size = 4, .num_workers = 3});
  CHECK(pass_of(smaller).size() == 5);
}

TEST_CASE("workers that the system refuses are an error, and those that it gave are ended") {
  if (sanitized) return;  // sanitizers need more addresses than any limit leaves
  check_in_child("child: the system refuses workers", {"MALLOC_ARENA_MAX=1"});
}

TEST_CASE("what is loaded ahead takes no more slots than there are batches") {
  constexpr int most = std::numeric_limits<int>::max();
  DataLoader loader(Numbers{20}, {.batch_size = 4, .num_workers = 2, .prefetch_factor = most});
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(pass_of(loader).size() == 5);
}

TEST_CASE("later passes may have more batches than the first") {
  struct Growing : Sampler {
    int64_t size() const override { return 3 + 4 * epoch(); }
    void indices(int64_t epoch, std::vector<int64_t>& indices) const override {
      indices.clear();
      for (int64_t i = 0; i < 3 + 4 * epoch; ++i) indices.push_back(i);
    }
  };
  DataLoader loader(Numbers{20},
                    {.sampler = std::make_shared<Growing>(), .num_workers = 2, .prefetch_factor = 3});
  for (size_t epoch = 0; epoch < 4; ++epoch) CHECK(pass_of(loader).size() == 3 + 4 * epoch);
}

TEST_CASE("a time-out beyond all measure waits for ever") {
  struct Slow {
    int64_t size() const { return 3; }
    Tensor get(int64_t index) const {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return scalar(index);
    }
  };
  for (const double timeout : {1e9, 1e10, 1e18, 1e300, std::numeric_limits<double>::infinity()}) {
    DataLoader loader(Slow{}, {.num_workers = 1, .timeout = timeout});
    int batches = 0;
    for ([[maybe_unused]] auto& batch : loader) ++batches;
    CHECK(batches == 3);
  }
  for (const double timeout : {std::nan(""), -1.0, -std::numeric_limits<double>::infinity()}) {
    CHECK(contains(error_of([&] { DataLoader(Numbers{3}, {.num_workers = 1, .timeout = timeout}); }),
                   "DataLoader: timeout must be at least 0 seconds, got "));
  }
}

TEST_CASE("a dataset of a negative or an impossible size is an error") {
  for (const bool shuffle : {false, true}) {
    CHECK(contains(error_of([&] { DataLoader(Numbers{-3}, {.shuffle = shuffle}); }),
                   "DataLoader: the dataset's size() must not be negative, got -3"));
    DataLoader absurd(Numbers{std::numeric_limits<int64_t>::max()}, {.shuffle = shuffle});
    CHECK(contains(error_of([&] { absurd.begin(); }),
                   "no memory for the order of 9223372036854775807 samples"));
  }
}

TEST_CASE("a collate function that is empty is an error") {
  using Collate = std::function<Tensor(std::span<const Example>)>;
  using Loader = DataLoader<Numbers, Tensor>;
  CHECK(contains(error_of([] { Loader(Numbers{3}, DataLoaderOptions{}, Collate()); }),
                 "DataLoader: the collate function is empty"));
}
