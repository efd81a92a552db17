#include <tern/autograd/operators.h>
#include <tern/kernels/creation.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/rank_processes.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

#include <csignal>
#include <thread>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

std::string error_of_sum(const Group& group) {
  return error_of<DistributedError>([&] { all_reduce(ones({2}), {.group = group}); });
}

}  // namespace

TEST_CASE("a rank that does not come is named at the timeout, and fails at once when it comes") {
  run_both(3, 250ms, [](const Group& group) {
    all_reduce(ones({5}), {.group = group});
    if (group->rank() == 1) std::this_thread::sleep_for(650ms);
    const auto start = Clock::now();
    const std::string error = error_of_sum(group);
    CHECK_MESSAGE(contains(error, "all_reduce (sequence 1, float32, [2], sum) of group 'group' failed: "),
                  error);
    CHECK_MESSAGE(contains(error, "rank 1 had not arrived"), error);
    CHECK(!contains(error, "ranks"));
    CHECK(Clock::now() - start < (group->rank() == 1 ? 200ms : 600ms));
    CHECK(error_of_sum(group) == error);
    CHECK(error_of<DistributedError>([&] { barrier({.group = group}); }) == error);
    CHECK(group->recent_calls()[1].state == CallState::failed);
  });
}

TEST_CASE("ranks that are a call apart did not disagree: the one that both wait for is named") {
  run_both(3, 250ms, [](const Group& group) {
    const Tensor x = ones({2});
    const std::vector<Tensor> parts{empty({2}), empty({2}), empty({2})};
    all_reduce(x, {.group = group});
    if (group->rank() == 2) return std::this_thread::sleep_for(1500ms);
    // Rank 1 gives its part and goes on; rank 0 waits for rank 2's.
    const std::string error = error_of<DistributedError>([&] {
      gather(x, group->rank() == 0 ? parts : std::vector<Tensor>(), 0, {.group = group});
      barrier({.group = group});
    });
    CHECK_MESSAGE(contains(error, "rank 2 had not arrived"), error);
    CHECK(!contains(error, "different collectives"));
  });
}

TEST_CASE("a failure in an asynchronous collective comes out of wait() on every rank") {
  run_both(3, 250ms, [](const Group& group) {
    const Tensor x = ones({2}), y = ones({2});
    if (group->rank() == 2) std::this_thread::sleep_for(650ms);
    const auto first = all_reduce(x, {.group = group, .async_op = true});
    const auto second = all_reduce(y, {.group = group, .async_op = true});
    const std::string error = error_of<DistributedError>([&] { first->wait(); });
    CHECK_MESSAGE(contains(error, "rank 2 had not arrived"), error);
    CHECK(error_of<DistributedError>([&] { first->wait(); }) == error);
    CHECK(error_of<DistributedError>([&] { second->wait(); }) == error);
    CHECK(first->is_completed());
  });
}

TEST_CASE("wrong use on one rank leaves the others waiting until the timeout names it") {
  run_both(2, 250ms, [](const Group& group) {
    if (group->rank() == 0) {
      CHECK(contains(error_of([&] { all_reduce(Tensor(), {.group = group}); }), "undefined"));
      std::this_thread::sleep_for(600ms);
      CHECK(contains(error_of_sum(group), "rank 0 had not arrived"));
    } else {
      CHECK(contains(error_of_sum(group), "rank 0 had not arrived"));
    }
  });
}

TEST_CASE("a group may end while its work waits") {
  run_both(2, 30s, [](const Group& group) {
    if (group->rank() == 1) return std::this_thread::sleep_for(200ms);
    const Tensor x = ones({2});
    all_reduce(x, {.group = group, .async_op = true});
    recv(x, 1, {.group = group, .async_op = true});
    std::this_thread::sleep_for(50ms);
  });
}

TEST_CASE("a rank that leaves is missed well before the timeout") {
  run_both(3, 30s, [](const Group& group) {
    all_reduce(ones({2}), {.group = group});
    if (group->rank() == 2) return;
    const auto start = Clock::now();
    const std::string error = error_of_sum(group);
    CHECK(Clock::now() - start < 5s);
    CHECK_MESSAGE(contains(error, "rank 2"), error);
  });
}

TEST_CASE("child: a rank among processes" * doctest::skip()) {
  const Group group = group_of_child();
  const int rank = group->rank(), size = group->size();
  for (int i = 0; i < 100; ++i) {
    const Tensor x = full({i == 50 ? 200'000 : i}, rank + 1);
    all_reduce(x, {.group = group});
    CHECK(equal(x, full(x.shape(), size * (size + 1) / 2)));
  }
}

TEST_CASE("ranks may be processes") {
  for_each_transport([](const ProcessGroupOptions& options) {
    for (const int size : {2, 4}) {
      RankProcesses ranks("child: a rank among processes", size, options);
      for (int rank = 0; rank < size; ++rank) CHECK(ranks.passed(rank));
    }
  });
}

TEST_CASE("child: a rank whose peer is killed" * doctest::skip()) {
  const Group group = group_of_child();
  all_reduce(ones({2}), {.group = group});
  if (group->rank() == 1) ::raise(SIGKILL);
  const auto start = Clock::now();
  const std::string error = error_of_sum(group);
  CHECK(Clock::now() - start < 5s);
  CHECK_MESSAGE(contains(error, group->transport() == "gloo" ? "rank 1 had not arrived" : "rank 1 has died"),
                error);
  CHECK(error_of_sum(group) == error);
}

TEST_CASE("a killed process is noticed well before the timeout") {
  for_each_transport([](const ProcessGroupOptions& options) {
    RankProcesses ranks("child: a rank whose peer is killed", 3, options);
    CHECK(ranks.passed(0));
    CHECK(ranks.passed(2));
    CHECK(ranks.finish(1).status == -SIGKILL);
  });
}

TEST_CASE("child: a rank whose peer is stopped" * doctest::skip()) {
  const Group group = group_of_child();
  all_reduce(ones({2}), {.group = group});
  if (group->rank() == 1) ::raise(SIGSTOP);
  const std::string error = error_of_sum(group);
  CHECK_MESSAGE(contains(error, "rank 1 had not arrived"), error);
}

TEST_CASE("a stopped process is named at the timeout, and learns of it when it goes on") {
  for_each_transport([](ProcessGroupOptions options) {
    options.timeout = 500ms;
    RankProcesses ranks("child: a rank whose peer is stopped", 2, options);
    CHECK(ranks.passed(0));
    ::kill(ranks.process(1), SIGCONT);
    CHECK(ranks.passed(1));
  });
}
