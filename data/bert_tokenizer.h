// BERT's tokenizer: text to the ids that Hugging Face's BertTokenizer gives, and batches of them.
//
//   const data::BertTokenizer tokenizer = data::BertTokenizer::from_pretrained("bert-base-uncased");
//   const data::Encoding one = tokenizer.encode("A sentence.", "Another one.", {.max_length = 128});
//   const data::TokenBatch batch = tokenizer.pad({one, tokenizer.encode("And a third.")});
//   model(batch.input_ids, batch.attention_mask, batch.token_type_ids);
//
// A tokenizer does not change: any number of threads may use one.
#pragma once

#include <tern/core/tensor.h>
#include <tern/data/wordpiece.h>

#include <optional>
#include <span>

namespace tern::data {

struct BertTokenizerOptions {
  bool lowercase = true;
  std::optional<bool> strip_accents = {};  ///< as `lowercase` says where it is not given
  bool handle_chinese_chars = true;        ///< each ideograph is a word
  int64_t max_word_length = 100;           ///< code points; a longer word is one [UNK]
};

struct EncodeOptions {
  /// Most tokens of the result, [CLS] and [SEP] included; 0 for any number. Tokens fall away at the end, of
  /// a pair first from the longer text ("longest_first").
  int64_t max_length = 0;
  bool add_special_tokens = true;  ///< [CLS] text [SEP], or [CLS] text [SEP] pair [SEP]
};

/// What a model takes for one text or pair; three lists of one length.
struct Encoding {
  std::vector<int64_t> input_ids;
  std::vector<int64_t> token_type_ids;  ///< 0 up to the first [SEP], 1 behind it
  std::vector<int64_t> attention_mask;  ///< 1 for tokens, 0 for padding
};

/// Encodings of one length, each a row: int64 [N, length].
struct TokenBatch {
  Tensor input_ids, token_type_ids, attention_mask;
};

struct PadOptions {
  int64_t length = 0;       ///< of the result; 0 for that of the longest encoding
  int64_t multiple_of = 1;  ///< the length is rounded up to a multiple of this
};

class BertTokenizer {
 public:
  /// Throws Error naming what is missing unless the vocabulary has [UNK], [CLS], [SEP] and [PAD].
  explicit BertTokenizer(Vocabulary vocabulary, const BertTokenizerOptions& options = {});
  /// From a model's folder: vocab.txt, and do_lower_case, strip_accents and tokenize_chinese_chars of
  /// tokenizer_config.json where that is there. Throws IoError naming the file.
  static BertTokenizer from_pretrained(const std::filesystem::path& folder);

  /// The ids of a text's tokens alone. Special tokens in the text ("[MASK]", written so) are themselves;
  /// all else is cleaned of control characters, its spaces made equal, ideographs set apart, accents and case
  /// removed as the options say, split at spaces and around each punctuation character, and each word cut
  /// into pieces. Throws Error for text that is no UTF-8.
  std::vector<int64_t> ids(std::string_view text) const;
  /// The same as tokens: "un", "##aff", "##able".
  std::vector<std::string> tokenize(std::string_view text) const;

  /// Throws Error for text that is no UTF-8, and for a max_length that leaves no room for special tokens.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode(std::string_view text, std::string_view pair, const EncodeOptions& options = {}) const;

  /// The encodings side by side, filled up with [PAD] at their ends. Throws Error for none, for lists that
  /// differ in length, and for an encoding longer than a given length.
  TokenBatch pad(const std::vector<Encoding>& encodings, const PadOptions& options = {}) const;

  /// The tokens as text: pieces joined, no space before . ? ! and comma. What case, accents and spaces were
  /// is lost. Throws Error for an id that is no token's.
  std::string decode(std::span<const int64_t> ids, bool skip_special_tokens = false) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  int64_t pad_id() const { return pad_; }

 private:
  void append_plain(std::string_view text, std::vector<int64_t>& ids) const;
  bool is_special(int64_t id) const;
  int64_t room(int64_t marks, const EncodeOptions& options) const;

  Vocabulary vocabulary_;
  BertTokenizerOptions options_;
  int64_t unknown_, cls_, sep_, pad_;
  std::vector<int64_t> special_;
};

}  // namespace tern::data
