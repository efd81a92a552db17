#include <tern/tests/data/data_testing.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

std::vector<int64_t> order_of(const Sampler& sampler, int64_t epoch) {
  std::vector<int64_t> indices;
  sampler.indices(epoch, indices);
  return indices;
}

// Every world-th of a permutation that all ranks share.
class Share : public Sampler {
 public:
  Share(int64_t count, int64_t rank, int64_t world) : all_(count, 3), rank_(rank), world_(world) {}
  int64_t size() const override { return (all_.size() - rank_ + world_ - 1) / world_; }
  void indices(int64_t epoch, std::vector<int64_t>& indices) const override {
    std::vector<int64_t> all;
    all_.indices(epoch, all);
    indices.clear();
    for (int64_t i = rank_; i < all_.size(); i += world_) indices.push_back(all[static_cast<size_t>(i)]);
  }

 private:
  RandomSampler all_;
  int64_t rank_, world_;
};

// Says one size and gives another number of indices.
struct Wrong : Sampler {
  Wrong(int64_t said, int64_t given) : said(said), given(given) {}
  int64_t size() const override { return said; }
  void indices(int64_t, std::vector<int64_t>& indices) const override {
    indices.assign(static_cast<size_t>(given), 0);
  }
  int64_t said, given;
};

}  // namespace

TEST_CASE("a random sampler gives another permutation in each epoch, and the same one for the same epoch") {
  const RandomSampler sampler(100, 5), same(100, 5), other_seed(100, 6);
  std::vector<int64_t> sorted = order_of(sampler, 0);
  CHECK(sorted == order_of(same, 0));
  CHECK(sorted != order_of(sampler, 1));
  CHECK(sorted != order_of(other_seed, 0));
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == order_of(SequentialSampler(100), 7));
  CHECK(order_of(RandomSampler(0), 0).empty());
}

TEST_CASE("the order of a (seed, epoch) never changes between versions and machines") {
  CHECK(order_of(RandomSampler(8, 0), 0) == std::vector<int64_t>{5, 7, 4, 2, 6, 1, 3, 0});
  CHECK(order_of(RandomSampler(8, 42), 3) == std::vector<int64_t>{4, 5, 2, 0, 7, 3, 1, 6});
}

TEST_CASE("each of four elements is first equally often") {
  std::vector<int> first(4);
  const RandomSampler sampler(4, 1);
  for (int64_t epoch = 0; epoch < 4000; ++epoch) ++first[static_cast<size_t>(order_of(sampler, epoch)[0])];
  for (const int count : first) CHECK(std::abs(count - 1000) < 120);
}

TEST_CASE("a loader shuffles anew in each epoch by itself") {
  DataLoader loader(Numbers{8}, {.batch_size = 3, .shuffle = true, .seed = 9});
  std::set<std::vector<int64_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> order = targets_of(loader);
    CHECK(order == order_of(RandomSampler(8, 9), epoch));
    orders.insert(order);
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("ranks that divide a sampler's order visit everything once, in another order each epoch") {
  std::vector<int64_t> all(8);
  std::iota(all.begin(), all.end(), int64_t{0});
  std::set<std::vector<int64_t>> orders;
  DataLoader first(Numbers{8}, {.batch_size = 2, .sampler = std::make_shared<Share>(8, 0, 2)});
  DataLoader second(Numbers{8}, {.batch_size = 2, .sampler = std::make_shared<Share>(8, 1, 2)});
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> order = targets_of(first), rest = targets_of(second);
    order.insert(order.end(), rest.begin(), rest.end());
    orders.insert(order);
    CHECK(std::is_permutation(order.begin(), order.end(), all.begin(), all.end()));
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("an explicit set_epoch wins for the next pass, whether it comes before or during one") {
  const auto sampler = std::make_shared<RandomSampler>(8, 1);
  DataLoader loader(Numbers{8}, {.batch_size = 8, .sampler = sampler});
  sampler->set_epoch(5);
  CHECK(targets_of(loader) == order_of(*sampler, 5));
  CHECK(targets_of(loader) == order_of(*sampler, 6));
  for ([[maybe_unused]] auto& batch : loader) loader.set_epoch(2);
  CHECK(targets_of(loader) == order_of(*sampler, 2));
  CHECK(targets_of(loader) == order_of(*sampler, 3));
  CHECK(contains(error_of([&] { loader.set_epoch(-1); }),
                 "set_epoch: needs an epoch from 0 to 4611686018427387904, got -1"));
}

TEST_CASE("a sampler's index outside the dataset is an error") {
  DataLoader loader(Numbers{4}, {.sampler = std::make_shared<SequentialSampler>(5)});
  CHECK(contains(error_of([&] { loader.begin(); }), "gave index 4 for a dataset of 4 samples"));
}

TEST_CASE("a sampler that gives more or fewer indices than its size is an error") {
  for (const int workers : {0, 2}) {
    for (const auto& [said, given] :
         std::vector<std::pair<int64_t, int64_t>>{{3, 4}, {4, 3}, {0, 1}, {1, 0}}) {
      DataLoader loader(Numbers{4},
                        {.sampler = std::make_shared<Wrong>(said, given), .num_workers = workers});
      CHECK(contains(error_of([&, loader = &loader] { loader->begin(); }),
                     "DataLoader: the sampler gave " + std::to_string(given) + " indices, its size() is " +
                         std::to_string(said)));
    }
  }
}

TEST_CASE("a negative size of a sampler is an error") {
  CHECK(contains(error_of([] { SequentialSampler(-1); }),
                 "SequentialSampler: size must not be negative, got -1"));
  CHECK(contains(error_of([] { RandomSampler(-5, 1); }), "RandomSampler: size must not be negative, got -5"));
  DataLoader loader(Numbers{4}, {.sampler = std::make_shared<Wrong>(-2, 0)});
  const std::string expected = "DataLoader: the sampler's size() must not be negative, got -2";
  CHECK(contains(error_of([&] { loader.begin(); }), expected));
  CHECK(contains(error_of([&] { static_cast<void>(loader.size()); }), expected));
}

TEST_CASE("an epoch beyond all measure is an error, and the last one has no next") {
  constexpr int64_t last = int64_t{1} << 62;
  DataLoader loader(Numbers{4}, {.shuffle = true});
  const std::string expected = "needs an epoch from 0 to 4611686018427387904, got ";
  CHECK(contains(error_of([&] { loader.set_epoch(std::numeric_limits<int64_t>::max()); }), expected));
  CHECK(contains(error_of([&] {
                   loader.load_state({std::numeric_limits<int64_t>::max(), 0});
                 }),
                 "no position can be epoch 9223372036854775807"));
  loader.set_epoch(last - 1);
  CHECK(targets_of(loader).size() == 4);
  CHECK(loader.state() == DataLoaderState{last, 0});
  CHECK(contains(error_of([&] { loader.begin(); }), expected + "4611686018427387905"));
}
