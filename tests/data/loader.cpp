#include <tern/tests/data/data_testing.h>

#include <array>
#include <map>
#include <mutex>
#include <thread>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

TEST_CASE("the number and the content of batches do not depend on the number of workers") {
  for (const bool drop_last : {true, false}) {
    DataLoader reference(Numbers{46}, {.batch_size = 8, .drop_last = drop_last});
    const auto expected = pass_of(reference);
    CHECK(expected.size() == (drop_last ? 5 : 6));
    CHECK(expected.back().second.size() == (drop_last ? 8 : 6));
    for (const int workers : {0, 1, 3, 7}) {
      DataLoader loader(Numbers{46}, {.batch_size = 8, .num_workers = workers, .drop_last = drop_last});
      CHECK(loader.size() == (drop_last ? 5 : 6));
      CHECK(pass_of(loader) == expected);
    }
  }
}

TEST_CASE("shuffled and random samples are equal for any number of workers, epoch after epoch") {
  DataLoader reference(Numbers{61}, {.batch_size = 4, .shuffle = true, .seed = 7});
  std::vector<DataLoader<Numbers>> loaders;
  for (const int workers : {1, 3, 7}) {
    const DataLoaderOptions options{
        .batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 7, .prefetch_factor = 1};
    loaders.emplace_back(Numbers{61}, options);
  }
  for (int epoch = 0; epoch < 4; ++epoch) {
    const auto expected = pass_of(reference);
    for (auto& loader : loaders) CHECK(pass_of(loader) == expected);
  }
}

TEST_CASE("a sample's random numbers depend on seed, epoch and index, not on its batch") {
  DataLoader whole(Numbers{6}, {.batch_size = 6, .seed = 1}), single(Numbers{6}, {.seed = 1});
  const auto all = pass_of(whole)[0].first;
  const auto apart = pass_of(single);
  for (size_t i = 0; i < 6; ++i) CHECK(apart[i].first[1] == all[2 * i + 1]);
  CHECK(pass_of(whole)[0].first != all);
  DataLoader other(Numbers{6}, {.batch_size = 6, .seed = 2});
  CHECK(pass_of(other)[0].first != all);
}

namespace {

struct Tokens {
  Tensor ids, mask, label;
};

struct Texts {
  int64_t size() const { return 5; }
  Tokens get(int64_t index) const {
    return {generate<int64_t>({index + 1}, [&](int64_t i) { return 10 * index + i; }), scalar(1.0F),
            scalar(index)};
  }
};

struct Columns {
  int64_t size() const { return 3; }
  Tensor get(int64_t index) const { return counted<float>({2, 3}, static_cast<double>(index)); }
};

struct Pairs {
  int64_t size() const { return 2; }
  std::tuple<Tensor, Tensor> get(int64_t index) const { return {scalar(index), scalar(index + 10)}; }
};

// Pads with -1 to the longest of the batch.
Tokens pad(std::span<const Tokens> samples) {
  int64_t longest = 0;
  for (const Tokens& sample : samples) longest = std::max(longest, sample.ids.numel());
  const auto rows = static_cast<int64_t>(samples.size());
  Tokens batch{generate<int64_t>({rows, longest}, [](int64_t) { return -1; }), empty({rows}),
               empty({rows}, int64)};
  for (size_t row = 0; row < samples.size(); ++row) {
    for (int64_t i = 0; i < samples[row].ids.numel(); ++i) {
      batch.ids.data<int64_t>()[static_cast<int64_t>(row) * longest + i] =
          samples[row].ids.data<int64_t>()[i];
    }
    batch.mask.data<float>()[row] = samples[row].mask.item<float>();
    batch.label.data<int64_t>()[row] = samples[row].label.item<int64_t>();
  }
  return batch;
}

}  // namespace

TEST_CASE("samples are tensors, tuples or structs of tensors, and batches look the same") {
  DataLoader columns(Columns{}, {.batch_size = 2});
  std::vector<Shape> shapes;
  for (auto& batch : columns) shapes.push_back(batch.shape());
  CHECK(shapes == std::vector<Shape>{{2, 2, 3}, {1, 2, 3}});
  DataLoader pairs(Pairs{}, {.batch_size = 2});
  for (auto& [first, second] : pairs) {
    CHECK(values_of<int64_t>(first) == std::vector<int64_t>{0, 1});
    CHECK(values_of<int64_t>(second) == std::vector<int64_t>{10, 11});
  }
}

TEST_CASE("a collate function makes batches of samples that do not stack") {
  for (const int workers : {0, 2}) {
    DataLoader loader(Texts{}, {.batch_size = 3, .num_workers = workers}, pad);
    std::vector<std::vector<int64_t>> batches;
    for (auto& [ids, mask, label] : loader) {
      batches.push_back(values_of<int64_t>(ids));
      CHECK(mask.shape() == label.shape());
    }
    CHECK(batches == std::vector<std::vector<int64_t>>{{0, -1, -1, 10, 11, -1, 20, 21, 22},
                                                       {30, 31, 32, 33, -1, 40, 41, 42, 43, 44}});
  }
  DataLoader uneven(Texts{}, {.batch_size = 2});
  CHECK(contains(error_of([&] { uneven.begin(); }),
                 "sample 1: batch: tensor 0 of the sample has shape [2] and dtype int64, that of the first "
                 "sample of its batch [1] and int64"));
}

TEST_CASE("a collate function may make batches of another type") {
  const auto lengths = [](std::span<const Tokens> samples) {
    return generate<int64_t>({static_cast<int64_t>(samples.size())},
                             [&](int64_t i) { return samples[static_cast<size_t>(i)].ids.numel(); });
  };
  DataLoader loader(Texts{}, {.batch_size = 5}, lengths);
  for (Tensor& batch : loader) CHECK(values_of<int64_t>(batch) == std::vector<int64_t>{1, 2, 3, 4, 5});
}

namespace {

// Samples [2, 3] that lie column by column, and one that lies row by row.
struct Transposed {
  int64_t size() const { return 3; }
  Tensor get(int64_t index) const {
    const Tensor x = counted<float>({3, 2}, static_cast<double>(index + 1));
    return index == 2 ? counted<float>({2, 3}, 100) : x.with_layout(x.layout().transpose(0, 1));
  }
};

}  // namespace

TEST_CASE("a batch keeps its first sample's order of dimensions, and copes with samples of another one") {
  DataLoader loader(Transposed{}, {.batch_size = 3});
  for (Tensor& batch : loader) {
    CHECK(batch.shape() == Shape{3, 2, 3});
    CHECK(batch.strides() == Strides{6, 1, 2});
    CHECK(values_of<float>(batch) ==
          std::vector<float>{0, 1, 2, 3, 4, 5, 0, 2, 4, 6, 8, 10, 0, 300, 100, 400, 200, 500});
  }
}

TEST_CASE("the memory of batches is used again, but not while somebody keeps one") {
  for (const int workers : {0, 1, 2}) {
    DataLoader loader(Numbers{64}, {.batch_size = 4, .num_workers = workers});
    std::map<void*, int> seen;
    std::vector<std::pair<Tensor, int64_t>> kept;
    for (auto& [data, target] : loader) {
      ++seen[data.data()];
      if (target.data<int64_t>()[0] % 16 == 0) kept.emplace_back(data, target.data<int64_t>()[0]);
    }
    CHECK(seen.size() < 12);
    CHECK(kept.size() == 4);
    for (const auto& [data, first] : kept) {
      for (int64_t i = 0; i < 4; ++i) CHECK(data.data<float>()[2 * i] == static_cast<float>(first + i));
    }
  }
}

TEST_CASE("a small last batch does not shrink the memory of its slot") {
  DataLoader loader(Numbers{6}, {.batch_size = 4});
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(targets_of(loader) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("an empty dataset has no batches, and a dataset without a whole one has none either") {
  for (const int workers : {0, 2}) {
    DataLoader nothing(Numbers{0}, {.batch_size = 4, .num_workers = workers});
    CHECK(nothing.size() == 0);
    CHECK(pass_of(nothing).empty());
    DataLoader little(Numbers{3}, {.batch_size = 4, .num_workers = workers, .drop_last = true});
    CHECK(pass_of(little).empty());
  }
}

TEST_CASE("workers load on threads of their own that live from epoch to epoch") {
  struct Threads {
    std::shared_ptr<std::map<std::thread::id, int>> seen = std::make_shared<std::map<std::thread::id, int>>();
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
    int64_t size() const { return 40; }
    Tensor get(int64_t index) const {
      std::lock_guard lock(*mutex);
      ++(*seen)[std::this_thread::get_id()];
      return scalar(index);
    }
  };
  const Threads dataset;
  DataLoader loader(dataset, {.num_workers = 3});
  for (int epoch = 0; epoch < 3; ++epoch)
    for ([[maybe_unused]] auto& batch : loader) CHECK(batch.numel() == 1);
  CHECK(dataset.seen->size() <= 3);
  CHECK(dataset.seen->count(std::this_thread::get_id()) == 0);
}

TEST_CASE("options that do not fit together are errors") {
  const auto message = [](const DataLoaderOptions& options) {
    return error_of([&] { DataLoader loader(Numbers{4}, options); });
  };
  CHECK(contains(message({.shuffle = true, .sampler = std::make_shared<RandomSampler>(4)}),
                 "shuffle and sampler exclude each other"));
  CHECK(contains(message({.batch_size = 0}), "batch_size must be at least 1, got 0"));
  CHECK(contains(message({.num_workers = -1}), "num_workers must be at least 0, got -1"));
  CHECK(contains(message({.num_workers = 1, .prefetch_factor = 0}), "prefetch_factor must be at least 1"));
  CHECK(contains(message({.num_workers = 1, .timeout = -1}), "timeout must be at least 0"));
  CHECK(contains(message({.timeout = 1}), "a timeout needs workers"));
  DataLoader loader(Numbers{4});
  for ([[maybe_unused]] auto& batch : loader) {
    CHECK(contains(error_of([&] { loader.begin(); }), "a loop over this loader is under way"));
  }
}
