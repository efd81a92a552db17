#include <tern/data/text_dataset.h>
#include <tern/tests/data/data_testing.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

using Ids = std::vector<int64_t>;

// Text i has lengths[i] tokens, each i + 1, and class i.
TextDataset texts_of(const Ids& lengths) {
  std::vector<Encoding> texts;
  Ids labels;
  for (const int64_t length : lengths) {
    const auto label = static_cast<int64_t>(labels.size());
    const auto count = static_cast<size_t>(length);
    texts.push_back({Ids(count, label + 1), Ids(count, 1), Ids(count, 1)});
    labels.push_back(label);
  }
  return {texts, labels};
}

Ids varied_lengths(int64_t count) {
  Ids lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(1 + i * 7919 % 101);
  return lengths;
}

// The padding of all batches that this order gives.
int64_t padding_of(const Ids& order, const Ids& lengths, int64_t batch) {
  int64_t padding = 0;
  for (size_t at = 0; at < order.size(); at += static_cast<size_t>(batch)) {
    const size_t end = std::min(order.size(), at + static_cast<size_t>(batch));
    int64_t longest = 0, sum = 0;
    for (size_t i = at; i < end; ++i) {
      const int64_t length = lengths[static_cast<size_t>(order[i])];
      longest = std::max(longest, length);
      sum += length;
    }
    padding += longest * static_cast<int64_t>(end - at) - sum;
  }
  return padding;
}

Ids order_of(const Sampler& sampler, int64_t epoch) {
  Ids order;
  sampler.indices(epoch, order);
  return order;
}

}  // namespace

TEST_CASE("a loader pads each batch of texts to its longest") {
  for (const int workers : {0, 2}) {
    DataLoader loader(texts_of({2, 3, 1}), {.batch_size = 2, .num_workers = workers}, PadTexts{9});
    std::vector<Ids> ids, types, masks, labels;
    for (auto& batch : loader) {
      ids.push_back(values_of<int64_t>(batch.input_ids));
      types.push_back(values_of<int64_t>(batch.token_type_ids));
      masks.push_back(values_of<int64_t>(batch.attention_mask));
      labels.push_back(values_of<int64_t>(batch.labels));
    }
    CHECK(ids == std::vector<Ids>{{1, 1, 9, 2, 2, 2}, {3}});
    CHECK(types == std::vector<Ids>{{1, 1, 0, 1, 1, 1}, {1}});
    CHECK(masks == std::vector<Ids>{{1, 1, 0, 1, 1, 1}, {1}});
    CHECK(labels == std::vector<Ids>{{0, 1}, {2}});
  }
}

TEST_CASE("batches of texts may have a given length, or a multiple") {
  const TextDataset texts = texts_of({2, 3});
  const std::vector<TextExample> both{texts.get(0), texts.get(1)};
  CHECK(PadTexts{.length = 5}(both).input_ids.shape() == Shape{2, 5});
  CHECK(PadTexts{.multiple_of = 8}(both).attention_mask.shape() == Shape{2, 8});
  CHECK(contains(error_of<Error>([&] { PadTexts{.length = 2}(both); }),
                 "a text of 3 tokens is longer than the length 2"));
  CHECK(contains(error_of<Error>([&] { PadTexts{.multiple_of = 0}(both); }), "multiple_of at least 1"));
  CHECK(contains(error_of<Error>([] { TextDataset({{{1}, {0}, {1}}}, {}); }), "1 texts, but 0 labels"));
  CHECK(contains(error_of<Error>([] { TextDataset({{{1}, {}, {1}}}, {0}); }), "text 0 has 1 ids, but 0"));
}

TEST_CASE("batches of similar lengths need a fraction of the padding") {
  const Ids lengths = varied_lengths(1003);
  const LengthBucketSampler sampler(lengths, {.batch_size = 8});
  const Ids order = order_of(sampler, 0);
  CHECK(std::set<int64_t>(order.begin(), order.end()).size() == 1003);
  CHECK(order.size() == 1003);
  const int64_t shuffled = padding_of(order_of(RandomSampler(1003), 0), lengths, 8);
  CHECK(padding_of(order, lengths, 8) * 5 < shuffled);
}

TEST_CASE("the order by lengths is another in each epoch, the same for the same seed") {
  const Ids lengths = varied_lengths(100);
  const LengthBucketSampler one(lengths, {.batch_size = 8, .seed = 3}),
      same(lengths, {.batch_size = 8, .seed = 3});
  CHECK(order_of(one, 0) == order_of(same, 0));
  CHECK(order_of(one, 0) != order_of(one, 1));
  CHECK(order_of(one, 0) != order_of(LengthBucketSampler(lengths, {.batch_size = 8, .seed = 4}), 0));
  // The batches' own order is shuffled: their lengths do not only rise.
  Ids firsts;
  const Ids order = order_of(one, 0);
  for (size_t at = 0; at < 96; at += 8) firsts.push_back(lengths[static_cast<size_t>(order[at])]);
  CHECK(!std::is_sorted(firsts.begin(), firsts.end()));
}

TEST_CASE("few samples, or none, have an order by lengths too") {
  CHECK(order_of(LengthBucketSampler({}, {.batch_size = 8}), 0).empty());
  Ids order = order_of(LengthBucketSampler({5, 1, 3}, {.batch_size = 8}), 0);
  std::sort(order.begin(), order.end());
  CHECK(order == Ids{0, 1, 2});
  CHECK(contains(error_of<Error>([] { LengthBucketSampler({1}, {.batch_size = 0}); }),
                 "must be at least 1, got 0 and 50"));
}
