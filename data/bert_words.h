// BERT's cleaning of a text, and its split into words: what comes before WordPiece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern::data {

struct BertWordOptions {
  bool lowercase = true;
  bool strip_accents = true;
  bool handle_chinese_chars = true;
};

/// The words of a text, UTF-8: BertTokenizer::ids() says how they are found. Throws Error for text that is no
/// UTF-8.
std::vector<std::string> bert_words(std::string_view text, const BertWordOptions& options);

}  // namespace tern::data
