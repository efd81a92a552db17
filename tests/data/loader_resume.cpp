#include <tern/tests/data/data_testing.h>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

DataLoaderOptions options(int workers) {
  return {.batch_size = 3, .shuffle = true, .num_workers = workers, .seed = 4};
}

}  // namespace

TEST_CASE("a loop that goes on at a saved position repeats nothing and leaves nothing out") {
  for (const int workers : {0, 1, 3}) {
    DataLoader reference(Numbers{20}, options(0));
    pass_of(reference);
    const auto expected = pass_of(reference), after = pass_of(reference);

    DataLoader first(Numbers{20}, options(workers));
    pass_of(first);
    auto batches = decltype(expected){};
    for (auto& [data, target] : first) {
      batches.emplace_back(values_of<float>(data), values_of<int64_t>(target));
      if (batches.size() == 4) break;
    }
    CHECK(first.state() == DataLoaderState{1, 4});

    DataLoader second(Numbers{20}, options(workers));
    second.load_state(first.state());
    CHECK(second.state() == DataLoaderState{1, 4});
    for (auto& batch : pass_of(second)) batches.push_back(batch);
    CHECK(batches == expected);
    CHECK(pass_of(second) == after);
  }
}

TEST_CASE("the state names the batch that comes next") {
  DataLoader loader(Numbers{5}, {.batch_size = 2});
  CHECK(loader.state() == DataLoaderState{0, 0});
  int64_t batch = 0;
  for ([[maybe_unused]] auto& _ : loader) CHECK(loader.state() == DataLoaderState{0, ++batch});
  CHECK(loader.state() == DataLoaderState{1, 0});
  loader.set_epoch(7);
  CHECK(loader.state() == DataLoaderState{7, 0});
}

TEST_CASE("a position after the last batch gives an empty pass, and then the next epoch") {
  DataLoader loader(Numbers{5}, {.batch_size = 2});
  loader.load_state({3, 3});
  CHECK(pass_of(loader).empty());
  CHECK(loader.state() == DataLoaderState{4, 0});
  loader.load_state({0, 4});
  CHECK(contains(error_of([&] { loader.begin(); }), "cannot go on at batch 4 of 3"));
  CHECK(contains(error_of([&] { loader.load_state({-1, 0}); }), "no position can be epoch -1"));
}

TEST_CASE("leaving a loop early ends its epoch") {
  for (const int workers : {0, 2}) {
    DataLoader loader(Numbers{20}, options(workers)), reference(Numbers{20}, options(0));
    pass_of(reference);
    for ([[maybe_unused]] auto& batch : loader) break;
    CHECK(pass_of(loader) == pass_of(reference));
  }
}
