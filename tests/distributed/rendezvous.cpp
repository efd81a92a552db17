#include <tern/core/error.h>
#include <tern/distributed/init.h>
#include <tern/distributed/rendezvous.h>
#include <tern/distributed/socket.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

#include <mutex>
#include <set>
#include <thread>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

// Each of `participants` meets the others on a thread of its own. What they were told, each once.
std::set<std::string> meeting(const std::vector<Participant>& participants, Duration timeout = 10s) {
  std::set<std::string> told;
  std::mutex mutex;
  run_threads(static_cast<int>(participants.size()), [&](const std::shared_ptr<Store>& store, int i) {
    const Participant& me = participants[static_cast<size_t>(i)];
    const std::string text = error_of<DistributedError>([&] {
      const std::vector<Participant> all = meet(*store, me, timeout);
      CHECK(all.size() == static_cast<size_t>(me.world_size));
      for (size_t rank = 0; rank < all.size(); ++rank) CHECK(all[rank].rank == static_cast<int>(rank));
      CHECK(all[static_cast<size_t>(me.rank)].process == me.process);
    });
    const std::lock_guard lock(mutex);
    told.insert(text.substr(0, text.find(" [")));
  });
  return told;
}

Participant participant(int rank, int world_size, const std::string& process,
                        const std::string& backend = "gloo") {
  return {rank, world_size, backend, "host", process};
}

bool all_told(const std::set<std::string>& told, const std::string& part) {
  return told.size() == 1 && contains(*told.begin(), part);
}

}  // namespace

TEST_CASE("ranks meet and know each other") {
  CHECK(all_told(meeting({participant(0, 1, "p")}), "no error"));
  CHECK(all_told(meeting({participant(2, 3, "p"), participant(0, 3, "q"), participant(1, 3, "r")}),
                 "no error"));
}

TEST_CASE("a rank that is there twice is named, with its processes, on every rank") {
  const auto told = meeting(
      {participant(0, 3, "a (pid 1)"), participant(1, 3, "b (pid 2)"), participant(1, 3, "b (pid 3)")});
  CHECK(all_told(told, "rank 1 is there twice: in b (pid "));
  CHECK(contains(*told.begin(), "b (pid 2)"));
  CHECK(contains(*told.begin(), "b (pid 3)"));
}

TEST_CASE("ranks that are missing are named on every rank") {
  const auto told = meeting({participant(0, 4, "p"), participant(2, 4, "q")}, 500ms);
  CHECK(all_told(told, "init_process_group: missing ranks 1, 3: of 4 ranks 2 came within 500 ms"));
  CHECK(all_told(meeting({participant(1, 2, "p")}, 20ms), "missing rank 0: of 2 ranks 1 came within 20 ms"));
  CHECK(all_told(meeting({participant(0, 100, "p")}, 20ms), "13, 14, 15, 16 and 83 more"));
}

TEST_CASE("a rank that stops right after it came is not missing") {
  const std::shared_ptr<Store> store = memory_store();
  std::thread first([&] { CHECK(meet(*store, participant(0, 2, "p"), 100ms).size() == 2); });
  store->set("rank/1", store->get("rank/0", 1s));  // and nothing more
  first.join();
}

TEST_CASE("different world sizes and backends are named on every rank") {
  auto told = meeting({participant(0, 3, "p"), participant(1, 2, "q")});
  CHECK(all_told(told, "world sizes differ: "));
  CHECK(contains(*told.begin(), "3 for rank 0 in p"));
  CHECK(contains(*told.begin(), "2 for rank 1 in q"));
  told = meeting({participant(0, 2, "p"), participant(1, 2, "q", "nccl")});
  CHECK(all_told(told, "backends differ: "));
  CHECK(contains(*told.begin(), "nccl for rank 1 in q"));
}

TEST_CASE("a late twin of a rank does not disturb those that met") {
  const std::shared_ptr<Store> store = memory_store();
  CHECK(meet(*store, participant(0, 1, "p"), 1s).size() == 1);
  CHECK(contains(error_of<DistributedError>([&] { meet(*store, participant(0, 1, "q"), 1s); }),
                 "rank 0 is there twice: in p and in q"));
  CHECK(store->find("verdict")->starts_with('+'));
}

TEST_CASE("before init_process_group nobody has a rank") {
  CHECK(!is_initialized());
  for (const auto& ask : std::vector<std::function<void()>>{[] { get_rank(); }, [] { get_world_size(); },
                                                            [] { get_backend(); }, [] { new_group({0}); }})
    CHECK(contains(error_of(ask), "init_process_group was not called"));
  CHECK(get_local_rank() == 0);
  CHECK(get_restart_count() == 0);
  destroy_process_group();
}

TEST_CASE("a world of one needs nobody") {
  init_process_group({.world_size = 1, .rank = 0});
  CHECK(is_initialized());
  CHECK(get_rank() == 0);
  CHECK(get_world_size() == 1);
  CHECK(get_local_rank() == 0);
  CHECK(get_backend() == "gloo");
  const Tensor x = counted<float>({3});
  all_reduce(x);
  CHECK(x.data<float>()[2] == 2);
  CHECK(get_rank(new_group({0})) == 0);
  CHECK(contains(error_of([] { new_group({0, 0}); }), "new_group: rank 0 is given twice"));
  CHECK(contains(error_of([] { new_group({1}); }), "new_group: there is no rank 1 in a world of 1"));
  CHECK(
      contains(error_of([] { init_process_group({.world_size = 1, .rank = 0}); }), "part of a job already"));
  destroy_process_group();
  CHECK(!is_initialized());
  init_process_group({.init_method = "tcp://127.0.0.1:1", .world_size = 1, .rank = 0});
  destroy_process_group();
}

TEST_CASE("init_process_group refuses options that make no sense") {
  const auto problem = [](const InitOptions& options) {
    return error_of([&] { init_process_group(options); });
  };
  CHECK(contains(problem({.init_method = "http://x"}),
                 "must be env://, tcp://host:port or file:///path, got 'http://x'"));
  CHECK(contains(problem({.init_method = "file://relative", .world_size = 2, .rank = 0}), "must be env://"));
  CHECK(contains(problem({.init_method = "tcp://host", .world_size = 2, .rank = 0}),
                 ".init_method: needs host:port"));
  CHECK(contains(problem({.world_size = 2, .rank = 2}), ".rank must be from 0 to 1, got 2"));
  CHECK(contains(problem({.world_size = 0, .rank = 0}), ".world_size must be positive"));
  CHECK(contains(problem({.rank = -2}), ".rank must be from"));
  CHECK(contains(problem({.world_size = 1, .rank = 0, .timeout = 0ms}), "the timeout must be positive"));
  CHECK(contains(problem({.store = memory_store()}), "a store needs .rank and .world_size"));
  CHECK(contains(problem({}), "environment: nobody says which rank this is"));
  CHECK(
      contains(problem({.init_method = "tcp://127.0.0.1:1"}), "environment: nobody says which rank this is"));
  CHECK(contains(problem({.backend = "smoke", .world_size = 1, .rank = 0}), "smoke"));
  CHECK(!is_initialized());
}
