#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

// What `action` throws must be an Error of wrong use, not one between ranks.
void check_refused(const std::string& text, const std::function<void()>& action) {
  CHECK(contains(error_of([&] { action(); }), text));
  CHECK_THROWS_AS(action(), Error);
  CHECK(error_of<DistributedError>([&] {
          try {
            action();
          } catch (const DistributedError&) {
            throw;
          } catch (const Error&) {
          }
        }) == "no error");
}

}  // namespace

TEST_CASE("wrong arguments are refused before anything is sent") {
  run_both(2, 10s, [](const Group& group) {
    const CollectiveOptions in{.group = group};
    const Tensor x = ones({2, 3}), undefined;
    const bool is_root = group->rank() == 0;
    check_refused("all_reduce: tensor is undefined", [&] { all_reduce(undefined, {.group = group}); });
    check_refused("clone() first", [&] { all_reduce(expand(ones({1, 3}), {2, 3}), {.group = group}); });
    check_refused("all_reduce: bools have no sum",
                  [&] { all_reduce(full({2}, true, boolean), {.group = group}); });
    check_refused("reduce: an average needs a floating-point tensor, got int32",
                  [&] { reduce(ones({2}, int32), 0, {.op = ReduceOp::avg, .group = group}); });
    check_refused("all_reduce: there is no reduction number 17",
                  [&] { all_reduce(x, {.op = static_cast<ReduceOp>(17), .group = group}); });
    check_refused("broadcast: rank 2 is not in group 'group' of 2 ranks", [&] { broadcast(x, 2, in); });
    check_refused("reduce: rank -1 is not in group", [&] { reduce(x, -1, {.group = group}); });
    check_refused("tensors must hold 2 tensors, one for each rank, got 1", [&] { all_gather({x}, x, in); });
    check_refused("tensors must be of dtype float32", [&] { all_gather({x, ones({2, 3}, int64)}, x, in); });
    check_refused("must have shape [2, 3], got [3, 2]", [&] { all_gather({clone(x), ones({3, 2})}, x, in); });
    check_refused("two results share elements", [&] { all_gather({x, x}, ones({2, 3}), in); });
    const Tensor y = arange(8), two = arange(2);
    check_refused("two results share elements", [&] {
      all_gather({narrow(y, 0, 0, 2), narrow(y, 0, 1, 2)}, two, in);
    });
    check_refused("two results share elements", [&] { all_to_all({y, slice(y, 0, 1, 8, 3)}, {y, two}, in); });
    check_refused("output must be 2 parts of shape [2, 3]", [&] {
      all_gather_into_tensor(ones({3, 3}), x, in);
    });
    check_refused("input must be 2 parts of shape [2, 3]", [&] {
      reduce_scatter_tensor(x, ones({5, 3}), {.group = group});
    });
    check_refused(is_root ? "gather_list must hold 2 tensors" : "only the root gives a gather_list",
                  [&] { gather(x, is_root ? std::vector<Tensor>() : std::vector<Tensor>{x}, 0, in); });
    check_refused(is_root ? "scatter_list is undefined" : "only the root gives a scatter_list", [&] {
      scatter(x, {undefined, x}, 0, in);
    });
    check_refused("cut into equal parts for 2 ranks",
                  [&] { all_to_all_single(ones({3}), ones({3}), {.group = group}); });
    check_refused("must add up to the 4 rows of input", [&] {
      all_to_all_single(ones({4}), ones({4}), {.input_split_sizes = {int64_t{1} << 62, 3}, .group = group});
    });
    check_refused("is the calling rank itself", [&] { send(x, group->rank(), in); });
    check_refused("recv: tensor is undefined", [&] { recv(undefined, 1 - group->rank(), in); });
    // Nothing was sent, nothing is broken.
    const Tensor sum = ones({2});
    all_reduce(sum, {.group = group});
    CHECK(equal(sum, full({2}, 2)));
    CHECK(group->recent_calls().size() == 1);
    all_gather({slice(y, 0, 0, 8, 4), slice(y, 0, 1, 8, 4)}, two, in);  // views between each other share none
    CHECK(equal(y, from_vector<int64_t>({0, 0, 2, 3, 1, 1, 6, 7})));
  });
}

TEST_CASE("wrong groups are refused") {
  const std::shared_ptr<Store> store = memory_store();
  const auto make = [&](const std::string& backend, int rank, int size,
                        const ProcessGroupOptions& options = {}) {
    return error_of([&] { make_process_group(backend, store, rank, size, options); });
  };
  CHECK(contains(make("nccl", 0, 2), "backend nccl needs CUDA"));
  CHECK(contains(make("mpi", 0, 2), "there is no backend 'mpi'; there is gloo"));
  CHECK(contains(make("gloo", 2, 2), "rank must be from 0 to 1, got 2"));
  CHECK(contains(make("gloo", 0, 0), "size must be at least 1, got 0"));
  CHECK(contains(make("gloo", 0, 2, {.timeout = 0s}), "timeout must be positive"));
  CHECK(contains(make("gloo", 0, 2, {.ranks = {3, 3}}), "ranks must be different"));
  CHECK(contains(make("gloo", 0, 2, {.ranks = {3}}), "ranks must name 2 ranks, got 1"));
  CHECK(contains(error_of([] { make_process_group("gloo", nullptr, 0, 2); }), "needs a store"));
  const std::string late = make("gloo", 1, 4, {.timeout = 50ms, .ranks = {4, 5, 6, 7}});
  CHECK(contains(late, "after 50 ms these ranks had not come: 4, 6, 7"));
  CHECK(contains(make("gloo", 1, 4), "another process has joined as rank 1, or the name was used before"));
}

TEST_CASE("without a default group collectives say what to call") {
  CHECK(!has_default_group());
  CHECK(contains(error_of([] { all_reduce(ones({1})); }), "init_process_group was not called"));
  set_default_group(make_process_group("gloo", nullptr, 0, 1));
  const Tensor x = ones({2});
  all_reduce(x, {.op = ReduceOp::avg});
  CHECK(equal(x, ones({2})));
  CHECK(default_group()->transport() == "none");
  set_default_group(nullptr);
  CHECK(!has_default_group());
}

TEST_CASE("a mismatch is the same error on every rank and lists what each brought") {
  struct Mismatch {
    std::function<void(const Group&, int rank)> call;
    std::vector<std::string> parts;
  };
  const std::vector<Mismatch> mismatches = {
      {[](const Group& group, int rank) {
         all_reduce(ones({2, 2 + rank}), {.group = group});
       },
       {"rank 0: all_reduce (sequence 0, float32, [2, 2], sum)",
        "rank 1: all_reduce (sequence 0, float32, [2, 3]"}},
      {[](const Group& group, int rank) {
         all_reduce(ones({2}, rank == 2 ? int32 : float32), {.group = group});
       },
       {"rank 1: all_reduce (sequence 0, float32, [2], sum)",
        "rank 2: all_reduce (sequence 0, int32, [2], sum)"}},
      {[](const Group& group, int rank) { broadcast(ones({2}), rank == 0 ? 0 : 1, {.group = group}); },
       {"rank 0: broadcast (sequence 0, float32, [2]) with rank 0", "with rank 1"}},
      {[](const Group& group, int rank) {
         if (rank == 1) return static_cast<void>(barrier({.group = group}));
         all_reduce(ones({1}, uint8), {.op = ReduceOp::max, .group = group});
       },
       {"rank 0: all_reduce (sequence 0, uint8, [1], max)", "rank 1: barrier (sequence 0)"}},
  };
  for_each_transport([&](const ProcessGroupOptions& options) {
    for (const Mismatch& mismatch : mismatches) {
      const auto run = [&](const Group& group) {
        group->compare_calls(true);
        const auto call = [&] { mismatch.call(group, group->rank()); };
        const std::string error = error_of<DistributedError>(call);
        CHECK(contains(error, "ranks of group 'group' called different collectives: rank 0: "));
        for (const std::string& part : mismatch.parts) CHECK_MESSAGE(contains(error, part), error);
        CHECK(error_of<DistributedError>(call) == error);  // broken from now on
      };
      run_ranks(3, run, options);
    }
  });
}

TEST_CASE("without comparing, a mismatch over the network ends at the timeout with the same list") {
  const auto run = [](const Group& group) {
    const std::string error = error_of<DistributedError>([&] {
      all_reduce(ones({2, 2 + group->rank()}), {.group = group});
    });
    CHECK(contains(error, "rank 0: all_reduce (sequence 0, float32, [2, 2], sum); rank 1: all_reduce"));
  };
  run_ranks(3, run, {.timeout = 300ms, .shared_memory = false});
}

TEST_CASE("messages and parts of other sizes than expected are errors") {
  run_both(2, 300ms, [](const Group& group) {
    const Tensor x = ones({3}), y = ones({4});
    const std::string error = error_of<DistributedError>([&] {
      group->rank() == 0 ? send(x, 1, {.group = group}) : recv(y, 0, {.group = group});
      barrier({.group = group});
    });
    CHECK(contains(error,
                   group->transport() == "gloo" ? "had not arrived" : "recv (sequence 0, float32, [4])"));
  });
  run_both(2, 300ms, [](const Group& group) {
    std::vector<int64_t> to = {1, 3}, from = {1, 1 + group->rank()};
    const std::string error = error_of<DistributedError>([&] {
      all_to_all_single(ones({2 + group->rank()}), ones({4}),
                        {.output_split_sizes = from, .input_split_sizes = to, .group = group});
    });
    CHECK(error != "no error");
    if (group->transport() != "gloo")
      CHECK(contains(error, "rank 0 sends 3 elements to rank 1, which expects 1"));
  });
}
