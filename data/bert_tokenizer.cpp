#include <tern/data/bert_tokenizer.h>

#include <tern/core/error.h>
#include <tern/data/bert_words.h>

#include <algorithm>
#include <array>

namespace tern::data {
namespace {

int64_t required(const Vocabulary& vocabulary, const char* token) {
  const int64_t id = vocabulary.find(token);
  check(id >= 0, "BertTokenizer: the vocabulary of ", vocabulary.size(), " tokens has no ", token);
  return id;
}

int64_t length_of(const std::vector<int64_t>& ids) { return static_cast<int64_t>(ids.size()); }

// Cuts two texts to `room` tokens together, as Hugging Face's tokenizers do: the longer one loses all until
// both are equal; then both are halves, the shorter one (the first of equals) rounded down.
void truncate(std::vector<int64_t>& first, std::vector<int64_t>& second, int64_t room) {
  if (length_of(first) + length_of(second) <= room) return;
  std::vector<int64_t>& shorter = length_of(first) > length_of(second) ? second : first;
  std::vector<int64_t>& longer = &shorter == &first ? second : first;
  const int64_t least = std::min(length_of(shorter), room / 2);
  shorter.resize(static_cast<size_t>(least));
  longer.resize(static_cast<size_t>(room - least));
}

void append(Encoding& to, const std::vector<int64_t>& ids, int64_t type) {
  to.input_ids.insert(to.input_ids.end(), ids.begin(), ids.end());
  to.token_type_ids.resize(to.input_ids.size(), type);
  to.attention_mask.resize(to.input_ids.size(), 1);
}

// A token behind others, as text.
std::string joined(const std::string& token) {
  if (token.starts_with("##")) return token.substr(2);
  static constexpr std::array<std::string_view, 8> close{".", "?", "!", ",", "n't", "'m", "'s", "'ve"};
  const auto follows = [&](std::string_view start) { return token.starts_with(start); };
  if (follows("'re") || std::any_of(close.begin(), close.end(), follows)) return token;
  return " " + token;
}

int64_t padded_length(const std::vector<Encoding>& encodings, const PadOptions& options) {
  check(options.multiple_of >= 1 && options.length >= 0,
        "pad: length must not be negative and multiple_of at least 1, got ", options.length, " and ",
        options.multiple_of);
  int64_t longest = 0;
  for (const Encoding& one : encodings) {
    const int64_t length = length_of(one.input_ids);
    check(length_of(one.token_type_ids) == length && length_of(one.attention_mask) == length,
          "pad: an encoding has ", length, " ids, ", one.token_type_ids.size(), " types and ",
          one.attention_mask.size(), " numbers in its mask; expected as many of each");
    longest = std::max(longest, length);
  }
  check(options.length == 0 || longest <= options.length, "pad: an encoding of ", longest,
        " tokens is longer than the length ", options.length, "; encode with max_length");
  const int64_t length = options.length ? options.length : longest;
  return (length + options.multiple_of - 1) / options.multiple_of * options.multiple_of;
}

Tensor padded(const std::vector<Encoding>& encodings, std::vector<int64_t> Encoding::*list, int64_t length,
              int64_t filler) {
  Tensor result = empty({static_cast<int64_t>(encodings.size()), length}, int64);
  auto* row = result.data<int64_t>();
  for (const Encoding& one : encodings) {
    const auto end = std::copy((one.*list).begin(), (one.*list).end(), row);
    std::fill(end, row + length, filler);
    row += length;
  }
  return result;
}

}  // namespace

BertTokenizer::BertTokenizer(Vocabulary vocabulary, const BertTokenizerOptions& options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      unknown_(required(vocabulary_, "[UNK]")),
      cls_(required(vocabulary_, "[CLS]")),
      sep_(required(vocabulary_, "[SEP]")),
      pad_(required(vocabulary_, "[PAD]")),
      special_{unknown_, cls_, sep_, pad_} {
  check(options.max_word_length >= 1, "BertTokenizer: max_word_length must be at least 1, got ",
        options.max_word_length);
  if (const int64_t mask = vocabulary_.find("[MASK]"); mask >= 0) special_.push_back(mask);
}

bool BertTokenizer::is_special(int64_t id) const {
  return std::find(special_.begin(), special_.end(), id) != special_.end();
}

void BertTokenizer::append_plain(std::string_view text, std::vector<int64_t>& ids) const {
  const BertWordOptions options{.lowercase = options_.lowercase,
                                .strip_accents = options_.strip_accents.value_or(options_.lowercase),
                                .handle_chinese_chars = options_.handle_chinese_chars};
  for (const std::string& word : bert_words(text, options))
    append_pieces(vocabulary_, word, unknown_, options_.max_word_length, ids);
}

std::vector<int64_t> BertTokenizer::ids(std::string_view text) const {
  std::vector<int64_t> result;
  size_t done = 0;
  for (size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
    const auto here = [&](int64_t id) { return text.substr(at).starts_with(vocabulary_.token(id)); };
    const auto found = std::find_if(special_.begin(), special_.end(), here);
    if (found == special_.end()) {
      ++at;
      continue;
    }
    append_plain(text.substr(done, at - done), result);
    result.push_back(*found);
    done = at += vocabulary_.token(*found).size();
  }
  append_plain(text.substr(done), result);
  return result;
}

std::vector<std::string> BertTokenizer::tokenize(std::string_view text) const {
  std::vector<std::string> tokens;
  for (const int64_t id : ids(text)) tokens.push_back(vocabulary_.token(id));
  return tokens;
}

// How many tokens of texts fit beside `marks` special ones.
int64_t BertTokenizer::room(int64_t marks, const EncodeOptions& options) const {
  if (!options.add_special_tokens) marks = 0;
  check(options.max_length >= 0, "encode: max_length must not be negative, got ", options.max_length);
  if (options.max_length == 0) return std::numeric_limits<int64_t>::max();
  check(options.max_length >= marks, "encode: max_length is ", options.max_length,
        ", but [CLS] and [SEP] are ", marks, " tokens");
  return options.max_length - marks;
}

Encoding BertTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<int64_t> tokens = ids(text);
  tokens.resize(static_cast<size_t>(std::min(length_of(tokens), room(2, options))));
  Encoding result;
  if (options.add_special_tokens) append(result, {cls_}, 0);
  append(result, tokens, 0);
  if (options.add_special_tokens) append(result, {sep_}, 0);
  return result;
}

Encoding BertTokenizer::encode(std::string_view text, std::string_view pair,
                               const EncodeOptions& options) const {
  std::vector<int64_t> first = ids(text), second = ids(pair);
  truncate(first, second, room(3, options));
  Encoding result;
  if (options.add_special_tokens) append(result, {cls_}, 0);
  append(result, first, 0);
  if (options.add_special_tokens) append(result, {sep_}, 0);
  append(result, second, 1);
  if (options.add_special_tokens) append(result, {sep_}, 1);
  return result;
}

TokenBatch BertTokenizer::pad(const std::vector<Encoding>& encodings, const PadOptions& options) const {
  check(!encodings.empty(), "pad: there are no encodings");
  const int64_t length = padded_length(encodings, options);
  return {padded(encodings, &Encoding::input_ids, length, pad_),
          padded(encodings, &Encoding::token_type_ids, length, 0),
          padded(encodings, &Encoding::attention_mask, length, 0)};
}

std::string BertTokenizer::decode(std::span<const int64_t> ids, bool skip_special_tokens) const {
  std::string text;
  bool is_first = true;
  for (const int64_t id : ids) {
    const std::string& token = vocabulary_.token(id);
    if (skip_special_tokens && is_special(id)) continue;
    text += is_first ? token : joined(token);
    is_first = false;
  }
  return text;
}

}  // namespace tern::data
