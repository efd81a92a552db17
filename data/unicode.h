// Characters of texts, as the tokenizers of language models see them: UTF-8, kinds, decomposition, lower
// case.
//
// The kinds are those of Unicode 8.0, on which the tables of Hugging Face's tokenizers rest: a character that
// came later is neither mark nor punctuation nor control, so that the same vocabularies give the same ids.
// The values come from ICU. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace tern::data {

/// The code points of UTF-8 text. Throws Error naming `where` and the byte for text that is no UTF-8.
std::u32string from_utf8(std::string_view text, const char* where);
/// Code points as UTF-8.
std::string to_utf8(std::u32string_view text);

/// Spaces, tabs and line ends of all scripts (Unicode's White_Space).
bool is_whitespace(char32_t c);
/// Control, format and private characters, except tab, line feed and carriage return.
bool is_control(char32_t c);
/// Punctuation of all scripts, and every ASCII character that is neither letter, digit, space nor control
/// ("$" and "^" too).
bool is_punctuation(char32_t c);
/// Marks without a width of their own: accents (category Mn).
bool is_nonspacing_mark(char32_t c);
/// Characters of Chinese writing: the blocks of unified and compatibility ideographs that BERT lists. Hangul
/// and kana are none.
bool is_cjk(char32_t c);

/// The canonical decomposition (NFD): letters apart from their accents.
std::u32string decompose(std::u32string_view text);
/// Each character in lower case, without regard to its neighbours or a language; U+0130 becomes two.
std::u32string to_lower(std::u32string_view text);

}  // namespace tern::data
