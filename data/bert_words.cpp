#include <tern/data/bert_words.h>

#include <tern/data/unicode.h>

#include <algorithm>

namespace tern::data {
namespace {

constexpr char32_t replacement = 0xFFFD;  // stands for what once was no text

std::u32string cleaned(std::u32string_view text, bool handle_chinese_chars) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t c : text) {
    if (c == 0 || c == replacement || is_control(c)) continue;
    if (is_whitespace(c))
      result += U' ';
    else if (handle_chinese_chars && is_cjk(c))
      result.append({U' ', c, U' '});
    else
      result += c;
  }
  return result;
}

std::u32string without_accents(std::u32string_view text) {
  std::u32string result = decompose(text);
  std::erase_if(result, is_nonspacing_mark);
  return result;
}

std::vector<std::string> split(std::u32string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (is_whitespace(text[at])) {
      at = end;
      continue;
    }
    if (!is_punctuation(text[at])) {
      while (end < text.size() && !is_whitespace(text[end]) && !is_punctuation(text[end])) ++end;
    }
    words.push_back(to_utf8(text.substr(at, end - at)));
    at = end;
  }
  return words;
}

}  // namespace

std::vector<std::string> bert_words(std::string_view text, const BertWordOptions& options) {
  std::u32string characters = cleaned(from_utf8(text, "BertTokenizer"), options.handle_chinese_chars);
  if (options.strip_accents) characters = without_accents(characters);
  if (options.lowercase) characters = to_lower(characters);
  return split(characters);
}

}  // namespace tern::data
