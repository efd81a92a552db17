// Tokenized texts with a class each, for a DataLoader: batches padded to their own longest text.
//
//   data::TextDataset texts(encodings, labels);
//   data::DataLoader loader(texts, {.batch_size = 8, .sampler = …}, data::PadTexts{tokenizer.pad_id()});
//   for (auto& [input_ids, token_type_ids, attention_mask, labels] : loader) …
#pragma once

#include <tern/data/bert_tokenizer.h>
#include <tern/data/sampler.h>

namespace tern::data {

/// One text, without padding: int64 [length] twice, and its class without dimensions.
struct TextExample {
  Tensor input_ids, token_type_ids, label;
};

/// int64 [N, length] three times (attention_mask: 1 for tokens, 0 for padding), and labels [N].
struct TextBatch {
  Tensor input_ids, token_type_ids, attention_mask, labels;
};

class TextDataset {
 public:
  /// Throws Error unless there is a label for each text, and when ids and types of one differ in number.
  TextDataset(std::vector<Encoding> texts, std::vector<int64_t> labels);

  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  TextExample get(int64_t index) const;
  /// The number of tokens of each text: for LengthBucketSampler.
  std::vector<int64_t> lengths() const;

 private:
  std::vector<Encoding> texts_;
  std::vector<int64_t> labels_;
};

/// Makes a batch of texts: a DataLoader's collate function. The shorter ones are filled up at their ends with
/// `pad_id`, with type 0 and mask 0.
struct PadTexts {
  int64_t pad_id = 0;
  int64_t length = 0;       ///< of all batches; 0 for that of the batch's longest text
  int64_t multiple_of = 1;  ///< the length is rounded up to a multiple of this

  /// Throws Error for a text that is longer than `length`.
  TextBatch operator()(std::span<const TextExample> texts) const;
};

struct LengthBucketOptions {
  int64_t batch_size = 1;        ///< that of the loader
  int64_t batches_at_once = 50;  ///< how many batches' samples are sorted by length together
  uint64_t seed = 0;
};

/// An order in which neighbours are of similar length, so that batches need little padding: the samples are
/// shuffled; each run of batches_at_once batches is sorted by length; then the batches are shuffled. Samples
/// that fill no batch come last. The same (lengths, options, epoch) gives the same order on any machine.
class LengthBucketSampler : public Sampler {
 public:
  /// Throws Error unless both counts of the options are at least 1.
  explicit LengthBucketSampler(std::vector<int64_t> lengths, const LengthBucketOptions& options);
  int64_t size() const override { return static_cast<int64_t>(lengths_.size()); }
  void indices(int64_t epoch, std::vector<int64_t>& indices) const override;

 private:
  std::vector<int64_t> lengths_;
  LengthBucketOptions options_;
};

}  // namespace tern::data
