// Metrics over ranks: every sample of a data set counts once.
#include <tern/kernels/copy.h>
#include <tern/tern.h>
#include <tern/tests/data/data_testing.h>
#include <tern/tests/distributed/run_ranks.h>
#include <tern/tests/support/layouts.h>

#include <cmath>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

// A rank's loader over Numbers{size}, and how many of its last samples are another rank's.
struct Share {
  Share(const Group& group, int64_t size, int64_t batch, bool padding)
      : sampler(std::make_shared<data::DistributedSampler>(
            size,
            data::DistributedSamplerOptions{
                .num_replicas = group->size(), .rank = group->rank(), .shuffle = false, .padding = padding})),
        loader(Numbers{size}, {.batch_size = batch, .sampler = sampler}) {}
  std::shared_ptr<data::DistributedSampler> sampler;
  data::DataLoader<Numbers> loader;
};

// Which samples of a data set a rank's pass visits.
Tensor visited(Share& share) {
  std::vector<Tensor> labels{zeros({0}, int64)};
  for (auto& [x, label] : share.loader) labels.push_back(kernels::clone(label));
  return cat(labels);
}

}  // namespace

TEST_CASE("22 samples on 3 ranks give 22 results in order, and an accuracy of 11/22") {
  run_both(3, [](const Group& group) {
    for (const bool padding : {false, true}) {
      Share share(group, 22, 8, padding);
      const Tensor samples = visited(share);
      const int64_t repeated = share.sampler->repeated();
      CHECK(equal(gather_for_metrics(samples, {.repeated = repeated, .group = group}), arange(22)));
      const int64_t own = samples.size(0) - repeated;
      const Tensor counted = narrow(samples, 0, 0, own);
      int64_t right = 0;
      for (const double sample : values_of(counted)) right += std::fmod(sample, 2) == 0;
      CHECK(global_mean(static_cast<double>(right), own, group) == 0.5);
    }
  });
}

TEST_CASE("the mean of 0 to 8 over two ranks with batches of 5 is 4") {
  run_both(2, [](const Group& group) {
    Share share(group, 9, 5, false);
    const Tensor values = visited(share);
    CHECK(values.size(0) == 5 - group->rank());
    CHECK(global_mean(sum(values).item<double>(), values.size(0), group) == 4);
    CHECK(mean(to(gather_for_metrics(values, {.group = group}), float64)).item<double>() == 4);
  });
}

TEST_CASE("rows of any sizes and dtypes come together, also from ranks that have none") {
  for (const int ranks : {1, 2, 4}) {
    run_ranks(ranks, [&](const Group& group) {
      for (const int64_t size : {0, 1, 3, 9}) {
        for (const DType dtype : {float64, bfloat16, boolean}) {
          Share share(group, size, 2, false);
          const Tensor table = to(scattered({size, 2, 3}), dtype);
          const Tensor rows = index_select(table, 0, visited(share));
          CHECK(bits_equal(gather_for_metrics(rows, {.group = group}), table));
        }
      }
      // Rank r has r rows; the second of its predecessor's come before its third.
      const Tensor own = full({group->rank(), 1}, group->rank());
      const Tensor all = gather_for_metrics(transpose(own, 0, 0), {.group = group});
      CHECK(all.size(0) == ranks * (ranks - 1) / 2);
      if (ranks == 4) CHECK(values_of(all) == std::vector<double>{1, 2, 3, 2, 3, 3});
    });
  }
}

TEST_CASE("metrics without samples, and arguments that make no sense") {
  run_ranks(2, [](const Group& group) {
    CHECK(std::isnan(global_mean(0, 0, group)));
    CHECK(global_mean(group->rank() == 0 ? 3 : 0, group->rank() == 0 ? 2 : 0, group) == 1.5);
    CHECK(fails_with("gather_for_metrics: needs a row for each sample, got a tensor without dimensions",
                     [&] { gather_for_metrics(ones({}), {.group = group}); }));
    CHECK(fails_with("got an undefined tensor", [&] { gather_for_metrics({}, {.group = group}); }));
    for (const int64_t repeated : {-1, 3}) {
      CHECK(fails_with("repeated must be from 0 to the number of rows, 2, got",
                       [&] { gather_for_metrics(ones({2}), {.repeated = repeated, .group = group}); }));
    }
  });
}

TEST_CASE("a DistributedSampler without num_replicas and rank takes those of the default group") {
  CHECK(
      fails_with("needs num_replicas and rank, or init_process_group", [] { data::DistributedSampler(8); }));
  set_default_group(make_process_group("gloo", nullptr, 0, 1));
  CHECK(data::DistributedSampler(8).size() == 8);
  CHECK(data::DistributedSampler(8, {.num_replicas = 2}).size() == 4);
  CHECK(global_mean(6, 4) == 1.5);
  CHECK(fails_with("a count cannot be negative, got -4", [] { global_mean(6, -4); }));
  set_default_group(nullptr);
}
