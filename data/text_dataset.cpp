#include <tern/data/text_dataset.h>

#include <tern/core/error.h>
#include <tern/data/batch_writer.h>
#include <tern/kernels/creation.h>

#include <algorithm>

namespace tern::data {
namespace {

int64_t common_length(std::span<const TextExample> texts, const PadTexts& pad) {
  check(pad.length >= 0 && pad.multiple_of >= 1,
        "PadTexts: length must not be negative and multiple_of at least 1, got ", pad.length, " and ",
        pad.multiple_of);
  int64_t longest = 0;
  for (const TextExample& text : texts) longest = std::max(longest, text.input_ids.numel());
  check(pad.length == 0 || longest <= pad.length, "PadTexts: a text of ", longest,
        " tokens is longer than the length ", pad.length, "; encode with max_length");
  const int64_t length = pad.length ? pad.length : longest;
  return (length + pad.multiple_of - 1) / pad.multiple_of * pad.multiple_of;
}

void put_row(const Tensor& matrix, int64_t row, const Tensor& values, int64_t filler) {
  int64_t* to = matrix.data<int64_t>() + row * matrix.size(1);
  const auto* from = values.data<int64_t>();
  std::fill(std::copy(from, from + values.numel(), to), to + matrix.size(1), filler);
}

}  // namespace

TextDataset::TextDataset(std::vector<Encoding> texts, std::vector<int64_t> labels)
    : texts_(std::move(texts)), labels_(std::move(labels)) {
  check(texts_.size() == labels_.size(), "TextDataset: there are ", texts_.size(), " texts, but ",
        labels_.size(), " labels");
  for (size_t i = 0; i < texts_.size(); ++i)
    check(texts_[i].input_ids.size() == texts_[i].token_type_ids.size(), "TextDataset: text ", i, " has ",
          texts_[i].input_ids.size(), " ids, but ", texts_[i].token_type_ids.size(), " types");
}

TextExample TextDataset::get(int64_t index) const {
  const auto at = static_cast<size_t>(index);
  return {from_vector(texts_[at].input_ids), from_vector(texts_[at].token_type_ids), scalar(labels_[at])};
}

std::vector<int64_t> TextDataset::lengths() const {
  std::vector<int64_t> lengths;
  for (const Encoding& text : texts_) lengths.push_back(static_cast<int64_t>(text.input_ids.size()));
  return lengths;
}

TextBatch PadTexts::operator()(std::span<const TextExample> texts) const {
  const auto count = static_cast<int64_t>(texts.size());
  const Shape shape{count, common_length(texts, *this)};
  TextBatch batch{empty(shape, int64), empty(shape, int64), empty(shape, int64), empty({count}, int64)};
  for (int64_t row = 0; row < count; ++row) {
    const TextExample& text = texts[static_cast<size_t>(row)];
    put_row(batch.input_ids, row, text.input_ids, pad_id);
    put_row(batch.token_type_ids, row, text.token_type_ids, 0);
    int64_t* mask = batch.attention_mask.data<int64_t>() + row * shape[1];
    std::fill(std::fill_n(mask, text.input_ids.numel(), 1), mask + shape[1], 0);
    batch.labels.data<int64_t>()[row] = text.label.item<int64_t>();
  }
  return batch;
}

LengthBucketSampler::LengthBucketSampler(std::vector<int64_t> lengths, const LengthBucketOptions& options)
    : lengths_(std::move(lengths)), options_(options) {
  check(options.batch_size >= 1 && options.batches_at_once >= 1,
        "LengthBucketSampler: batch_size and batches_at_once must be at least 1, got ", options.batch_size,
        " and ", options.batches_at_once);
}

void LengthBucketSampler::indices(int64_t epoch, std::vector<int64_t>& indices) const {
  RandomSampler(size(), options_.seed).indices(epoch, indices);
  const int64_t batch = options_.batch_size, batches = size() / batch;
  const auto by_length = [&](int64_t a, int64_t b) {
    return lengths_[static_cast<size_t>(a)] < lengths_[static_cast<size_t>(b)];
  };
  for (int64_t first = 0; first < batches; first += options_.batches_at_once) {
    const int64_t last = std::min(batches, first + options_.batches_at_once);
    std::stable_sort(indices.begin() + first * batch, indices.begin() + last * batch, by_length);
  }
  // Another stream than the samples' own order has.
  std::vector<int64_t> order;
  RandomSampler(batches, options_.seed + 1).indices(epoch, order);
  const std::vector<int64_t> sorted = indices;
  for (int64_t i = 0; i < batches; ++i)
    std::copy_n(sorted.begin() + order[static_cast<size_t>(i)] * batch, batch, indices.begin() + i * batch);
}

}  // namespace tern::data
