#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <random>
#include <thread>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

TEST_CASE("only a view's elements are sent and written") {
  run_both(2, [](const Group& group) {
    const int rank = group->rank();
    // Every second element of 0..5 to each rank.
    const Tensor six = slice(to(arange(6), float32), 0, 0, 6, 2);
    Tensor x = zeros({3});
    scatter(x, rank == 0 ? std::vector<Tensor>{six, six} : std::vector<Tensor>(), 0, {.group = group});
    CHECK(equal(x, tensor({0., 2., 4.})));
    x = rank == 0 ? six : slice(zeros({6}), 0, 0, 6, 2);
    broadcast(x, 0, {.group = group});
    CHECK(equal(x, tensor({0., 2., 4.})));

    const Tensor square = add(tensor({{1., 2.}, {3., 4.}}), rank * 10);
    all_reduce(select(square, 1, 1), {.group = group});
    CHECK(equal(square, tensor({{1. + rank * 10, 14.}, {3. + rank * 10, 18.}})));
    const Tensor other = add(tensor({{1., 2.}, {3., 4.}}), rank * 10);
    reduce(select(other, 1, 0), 1, {.group = group});
    CHECK(equal(other, rank == 0 ? tensor({{1., 2.}, {3., 4.}}) : tensor({{12., 12.}, {16., 14.}})));

    const Tensor grid = transpose(add(reshape(to(arange(6), float32), {2, 3}), rank * 100), 0, 1);
    std::vector<Tensor> list = {zeros({3, 2}), transpose(zeros({2, 3}), 0, 1)};
    all_gather(list, grid, {.group = group});
    CHECK(equal(list[0], tensor({{0., 3.}, {1., 4.}, {2., 5.}})));
    CHECK(equal(list[1], tensor({{100., 103.}, {101., 104.}, {102., 105.}})));
  });
}

TEST_CASE("averages divide by the number of ranks, and integers have none") {
  run_both(2, [](const Group& group) {
    for (const DType dtype : {float32, bfloat16, int64}) {
      const Tensor own = to(mul(tensor({1., 2., 3., 4.}), group->rank() + 1), dtype);
      Tensor x = clone(own);
      all_reduce(x, {.group = group});
      CHECK(equal(to(x, float32), tensor({3., 6., 9., 12.})));
      x = clone(own);
      if (is_floating_point(dtype)) {
        all_reduce(x, {.op = ReduceOp::avg, .group = group});
        CHECK(equal(to(x, float32), tensor({1.5, 3., 4.5, 6.})));
        continue;
      }
      const std::string error = error_of([&] { all_reduce(x, {.op = ReduceOp::avg, .group = group}); });
      CHECK(contains(error, "all_reduce: an average needs a floating-point tensor, got int64"));
      CHECK(equal(x, own));
    }
  });
}

TEST_CASE("NaN wins; integers wrap around; bools are and-ed and or-ed; halves round once") {
  run_both(3, [](const Group& group) {
    const int rank = group->rank();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      const Tensor x = make<float>({3}, {rank == 0 ? nan : 1, rank == 1 ? nan : 2, rank == 2 ? nan : 3});
      all_reduce(x, {.op = op, .group = group});
      for (int i = 0; i < 3; ++i) CHECK(std::isnan(x.data<float>()[i]));
    }
    const Tensor big = full({2}, std::numeric_limits<int64_t>::max(), int64);
    all_reduce(big, {.group = group});
    CHECK(big.data<int64_t>()[1] == std::numeric_limits<int64_t>::max() - 2);
    const Tensor small = full({1}, 200, uint8);
    all_reduce(small, {.group = group});
    CHECK(small.data<uint8_t>()[0] == 600 - 512);
    const Tensor flags = make<bool>({3}, {true, rank == 1, false});
    const Tensor both = clone(flags);
    all_reduce(flags, {.op = ReduceOp::max, .group = group});
    all_reduce(both, {.op = ReduceOp::product, .group = group});
    CHECK(equal(flags, make<bool>({3}, {true, true, false})));
    CHECK(equal(both, make<bool>({3}, {true, false, false})));
    // 256 + 0.75 + 0.75 = 257.5 is 258 in bfloat16; with a rounding after each sum it would stay 256.
    const Tensor half = full({1}, rank == 0 ? 256. : 0.75, bfloat16);
    all_reduce(half, {.group = group});
    CHECK(to(half, float32).item<float>() == 258);
  });
}

TEST_CASE("all ranks get the same bits on either transport") {
  std::vector<Tensor> sums;
  std::mutex mutex;
  run_both(4, [&](const Group& group) {
    Generator generator;
    generator.manual_seed(static_cast<uint64_t>(group->rank()));
    const Tensor x = randn({30'000}, float32, {}, &generator);
    all_reduce(x, {.op = ReduceOp::avg, .group = group});
    const std::lock_guard lock(mutex);
    sums.push_back(x);
  });
  CHECK(sums.size() == 8);
  for (const Tensor& x : sums) CHECK(equal(x, sums[0]));
}

TEST_CASE("asynchronous collectives run in order and finish at wait()") {
  run_both(3, [](const Group& group) {
    std::vector<std::shared_ptr<Work>> works;
    std::vector<Tensor> tensors;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(full({i, 100}, i + group->rank()));
      works.push_back(all_reduce(tensors.back(), {.group = group, .async_op = true}));
    }
    const Tensor last = ones({1});
    all_reduce(last, {.group = group});  // waits for its turn
    CHECK(last.item<float>() == 3);
    for (int i = 0; i < 20; ++i) {
      CHECK(works[static_cast<size_t>(i)]->is_completed());
      works[static_cast<size_t>(i)]->wait();
      CHECK(equal(tensors[static_cast<size_t>(i)], full({i, 100}, 3 * i + 3)));
    }
    const auto done = all_reduce(last, {.group = group});
    CHECK(done->is_completed());
    const Tensor strided = slice(full({9}, group->rank()), 0, 0, 9, 2);
    all_reduce(strided, {.group = group, .async_op = true})->wait();
    CHECK(equal(strided, full({5}, 3)));
  });
}

TEST_CASE("several groups over one store, of some of the ranks, at once") {
  for_each_transport([](const ProcessGroupOptions& given) {
    run_threads(4, [&](const std::shared_ptr<Store>& store, int rank) {
      ProcessGroupOptions options = given;
      options.name = "all";
      const Group all = make_process_group("gloo", store, rank, 4, options);
      options.name = rank % 2 == 0 ? "even" : "odd";
      options.ranks = rank % 2 == 0 ? std::vector<int>{0, 2} : std::vector<int>{1, 3};
      const Group mine = make_process_group("gloo", store, rank / 2, 2, options);
      for (int i = 0; i < 20; ++i) {
        const Tensor x = full({2}, rank), y = full({2}, rank);
        const auto work = all_reduce(x, {.group = all, .async_op = true});
        all_reduce(y, {.group = mine});
        CHECK(equal(y, full({2}, rank % 2 == 0 ? 2 : 4)));
        work->wait();
        CHECK(equal(x, full({2}, 6)));
      }
      // Roots are ranks of the job.
      const Tensor x = full({1}, rank);
      broadcast(x, rank % 2 == 0 ? 2 : 3, {.group = mine});
      CHECK(x.item<float>() == (rank % 2 == 0 ? 2 : 3));
      CHECK(contains(error_of([&] { broadcast(x, rank % 2 == 0 ? 1 : 0, {.group = mine}); }),
                     "is not in group"));
    });
  });
}

TEST_CASE("500 all_reduces of mixed sizes with random delays") {
  for_each_transport([](const ProcessGroupOptions& options) {
    const auto run = [](const Group& group) {
      std::mt19937 sizes(7), delays(static_cast<unsigned>(group->rank()));
      for (int i = 0; i < 500; ++i) {
        const int64_t count = i % 50 == 0 ? 70'000 : 1 + static_cast<int64_t>(sizes() % 3000);
        if (delays() % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(delays() % 8));
        const Tensor x = full({count}, group->rank() + i);
        all_reduce(x, {.group = group, .async_op = i % 3 == 0})->wait();
        const int n = group->size();
        CHECK(equal(x, full({count}, n * i + n * (n - 1) / 2)));
      }
    };
    run_ranks(options.shared_memory ? 4 : 3, run, options);
  });
}

TEST_CASE("the recorder keeps the last thousand calls") {
  run_ranks(2, [](const Group& group) {
    const Tensor x = ones({2, 3});
    for (int i = 0; i < 1002; ++i) all_reduce(x, {.op = ReduceOp::max, .group = group});
    broadcast(x, 0, {.group = group});
    const std::vector<CallRecord> calls = group->recent_calls();
    REQUIRE(calls.size() == 1000);
    CHECK(calls[0].call.sequence == 3);
    CHECK(printed(calls[998].call) == "all_reduce (sequence 1001, float32, [2, 3], max)");
    CHECK(calls[999].call.operation == std::string("broadcast"));
    CHECK(calls[999].state == CallState::completed);
    CHECK(calls[999].end >= calls[999].start);
  });
}
