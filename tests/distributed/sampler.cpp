#include <tern/distributed/distributed_sampler.h>
#include <tern/tests/data/data_testing.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

using Order = std::vector<int64_t>;

Order order_of(const Sampler& sampler, int64_t epoch) {
  Order indices;
  sampler.indices(epoch, indices);
  CHECK(static_cast<int64_t>(indices.size()) == sampler.size());
  return indices;
}

// Each rank's share in `epoch`.
std::vector<Order> shares(int64_t size, int64_t ranks, DistributedSamplerOptions options, int64_t epoch = 0) {
  std::vector<Order> result;
  options.num_replicas = ranks;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    options.rank = rank;
    result.push_back(order_of(DistributedSampler(size, options), epoch));
  }
  return result;
}

// Rank 0's first sample, rank 1's first, …, rank 0's second, …
Order interleaved(const std::vector<Order>& shares) {
  Order all;
  for (size_t i = 0; i < shares[0].size(); ++i) {
    for (const Order& share : shares) {
      if (i < share.size()) all.push_back(share[i]);
    }
  }
  return all;
}

Order counted_up(int64_t size) {
  Order all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

// The order, and then its beginning again, as often as it takes.
Order wrapped(Order order, int64_t size) {
  const size_t period = order.size();
  while (static_cast<int64_t>(order.size()) < size) order.push_back(order[order.size() - period]);
  return order;
}

}  // namespace

TEST_CASE("the ranks' shares, interleaved, are one order, padded from its own beginning") {
  for (const int64_t size : {0, 1, 2, 3, 5, 8, 22, 24}) {
    for (const int64_t ranks : {1, 2, 3, 4, 7, 30}) {
      CAPTURE(size);
      CAPTURE(ranks);
      for (const bool shuffle : {false, true}) {
        const Order order = shuffle ? order_of(RandomSampler(size, 5), 2) : counted_up(size);
        const int64_t padded = (size + ranks - 1) / ranks * ranks, cut = size / ranks * ranks;
        const DistributedSamplerOptions options{.shuffle = shuffle, .seed = 5};
        CHECK(interleaved(shares(size, ranks, options, 2)) == wrapped(order, padded));

        DistributedSamplerOptions dropping = options, uneven = options;
        dropping.drop_last = true;
        uneven.padding = false;
        CHECK(interleaved(shares(size, ranks, dropping, 2)) == Order(order.begin(), order.begin() + cut));
        CHECK(interleaved(shares(size, ranks, uneven, 2)) == order);
      }
    }
  }
}

TEST_CASE("without padding every sample is there once, and shares differ by one at most") {
  for (const int64_t ranks : {2, 3, 5}) {
    Order all;
    for (const Order& share : shares(22, ranks, {.shuffle = false, .padding = false})) {
      CHECK(static_cast<int64_t>(share.size()) >= 22 / ranks);
      CHECK(static_cast<int64_t>(share.size()) <= 22 / ranks + 1);
      all.insert(all.end(), share.begin(), share.end());
    }
    std::sort(all.begin(), all.end());
    CHECK(all == counted_up(22));
  }
}

TEST_CASE("a sampler tells how many samples of its rank are repetitions") {
  const auto repeated = [](int64_t size, int64_t rank, DistributedSamplerOptions options) {
    options.num_replicas = 4, options.rank = rank;
    return DistributedSampler(size, options).repeated();
  };
  for (int64_t rank = 0; rank < 4; ++rank) {
    CHECK(repeated(10, rank, {}) == (rank >= 2 ? 1 : 0));
    CHECK(repeated(3, rank, {}) == (rank == 3 ? 1 : 0));
    CHECK(repeated(8, rank, {}) == 0);
    CHECK(repeated(0, rank, {}) == 0);
    CHECK(repeated(10, rank, {.drop_last = true}) == 0);
    CHECK(repeated(10, rank, {.padding = false}) == 0);
  }
}

TEST_CASE("loaders over the ranks' samplers shuffle anew in each epoch by themselves") {
  const auto loader = [](int64_t rank) {
    return DataLoader(Numbers{8}, {.batch_size = 2,
                                   .sampler = std::make_shared<DistributedSampler>(
                                       8, DistributedSamplerOptions{.num_replicas = 2, .rank = rank})});
  };
  auto first = loader(0), second = loader(1);
  std::set<Order> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    Order order = targets_of(first);
    const Order rest = targets_of(second);
    order.insert(order.end(), rest.begin(), rest.end());
    orders.insert(order);
    std::sort(order.begin(), order.end());
    CHECK(order == counted_up(8));
  }
  CHECK(orders.size() == 3);
  first.set_epoch(1);
  second.set_epoch(1);
  Order again = targets_of(first);
  const Order rest = targets_of(second);
  again.insert(again.end(), rest.begin(), rest.end());
  CHECK(orders.contains(again));
}

TEST_CASE("an explicit set_epoch of a rank's sampler wins for the next pass") {
  const auto sampler =
      std::make_shared<DistributedSampler>(9, DistributedSamplerOptions{.num_replicas = 2, .rank = 1});
  DataLoader loader(Numbers{9}, {.batch_size = 4, .sampler = sampler});
  sampler->set_epoch(7);
  CHECK(targets_of(loader) == order_of(*sampler, 7));
  CHECK(targets_of(loader) == order_of(*sampler, 8));
}

TEST_CASE("a step of two ranks visits what a step of one process with twice the batch visits") {
  DataLoader whole(Numbers{12}, {.batch_size = 6, .shuffle = true, .seed = 3});
  std::vector<std::vector<std::pair<std::vector<float>, Order>>> parts;
  for (int64_t rank = 0; rank < 2; ++rank) {
    DataLoader part(Numbers{12},
                    {.batch_size = 3,
                     .sampler = std::make_shared<DistributedSampler>(
                         12, DistributedSamplerOptions{.num_replicas = 2, .rank = rank, .seed = 3}),
                     .seed = 3});
    parts.push_back(pass_of(part));
  }
  const auto batches = pass_of(whole);
  for (size_t step = 0; step < batches.size(); ++step)
    CHECK(interleaved({parts[0][step].second, parts[1][step].second}) == batches[step].second);
}

TEST_CASE("the order of a (seed, epoch) among ranks never changes between versions and machines") {
  CHECK(shares(8, 2, {.seed = 42}, 3) == std::vector<Order>{{4, 2, 7, 1}, {5, 0, 3, 6}});
  CHECK(shares(3, 2, {.shuffle = false}) == std::vector<Order>{{0, 2}, {1, 0}});
  CHECK(shares(2, 5, {.shuffle = false}) == std::vector<Order>{{0}, {1}, {0}, {1}, {0}});
}

TEST_CASE("a DistributedSampler's options that make no sense are errors") {
  const auto error = [](int64_t size, const DistributedSamplerOptions& options) {
    return error_of([&] { DistributedSampler(size, options); });
  };
  CHECK(contains(error(-1, {.num_replicas = 2, .rank = 0}), "size must not be negative, got -1"));
  CHECK(contains(error(8, {}), "needs num_replicas and rank, or init_process_group"));
  CHECK(contains(error(8, {.num_replicas = 2}), "needs num_replicas and rank, or init_process_group"));
  CHECK(contains(error(8, {.num_replicas = 0, .rank = 0}), "num_replicas must be at least 1, got 0"));
  CHECK(contains(error(8, {.num_replicas = 2, .rank = 2}), "rank must be from 0 to 1, got 2"));
  CHECK(contains(error(8, {.num_replicas = 2, .rank = -1}), "rank must be from 0 to 1, got -1"));
  CHECK(contains(error(8, {.num_replicas = 2, .rank = 0, .drop_last = true, .padding = false}),
                 "exclude each other"));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const DistributedSampler endless(most, {.num_replicas = 3, .rank = 0});
  CHECK(endless.size() == most / 3 + 1);
  Order indices;
  CHECK(contains(error_of([&] { endless.indices(0, indices); }), "there is no memory for the order of"));
  CHECK(order_of(DistributedSampler(1, {.num_replicas = most, .rank = most - 1}), 0) == Order{0});
}
