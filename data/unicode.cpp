#include <tern/data/unicode.h>

#include <tern/core/error.h>

#include <algorithm>
#include <array>
#include <vector>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

namespace tern::data {
namespace {

constexpr uint8_t unicode_version = 8;  // of the kinds of characters: see the header

int32_t size_of(std::u32string_view text) { return static_cast<int32_t>(text.size()); }
UChar32 code(char32_t c) { return static_cast<UChar32>(c); }

bool is_older(char32_t c) {
  UVersionInfo age{};
  u_charAge(code(c), age);
  return age[0] < unicode_version || (age[0] == unicode_version && age[1] == 0);
}

bool is_of(char32_t c, uint32_t categories) {
  return (U_MASK(u_charType(code(c))) & categories) != 0 && is_older(c);
}

void check_icu(UErrorCode status) { check(U_SUCCESS(status), "ICU: ", u_errorName(status)); }

std::vector<UChar> to_utf16(std::u32string_view text) {
  std::vector<UChar> units(text.size() * 2);
  int32_t length = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF32(units.data(), static_cast<int32_t>(units.size()), &length,
                 reinterpret_cast<const UChar32*>(text.data()), size_of(text), &status);
  check_icu(status);
  units.resize(static_cast<size_t>(length));
  return units;
}

std::u32string from_utf16(const std::vector<UChar>& units) {
  std::u32string text(units.size(), U'\0');
  int32_t length = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strToUTF32(reinterpret_cast<UChar32*>(text.data()), size_of(text), &length, units.data(),
               static_cast<int32_t>(units.size()), &status);
  check_icu(status);
  text.resize(static_cast<size_t>(length));
  return text;
}

bool is_ascii(std::u32string_view text) {
  return std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x80; });
}

}  // namespace

std::u32string from_utf8(std::string_view text, const char* where) {
  std::u32string result;
  result.reserve(text.size());
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t at = 0; at < size;) {
    const int64_t start = at;
    UChar32 c = 0;
    U8_NEXT(text.data(), at, size, c);
    check(c >= 0, where, ": the text is no UTF-8: byte ", start, " (counted from 0)");
    result += static_cast<char32_t>(c);
  }
  return result;
}

std::string to_utf8(std::u32string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t c : text) {
    std::array<char, U8_MAX_LENGTH> bytes{};
    size_t length = 0;
    U8_APPEND_UNSAFE(bytes.data(), length, c);
    result.append(bytes.data(), length);
  }
  return result;
}

bool is_whitespace(char32_t c) { return u_isUWhiteSpace(code(c)); }

bool is_control(char32_t c) {
  if (c == U'\t' || c == U'\n' || c == U'\r') return false;
  return is_of(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return u_ispunct(code(c)) || is_of(c, U_GC_S_MASK);
  if (c == 0x166D) return true;   // CANADIAN SYLLABICS CHI SIGN, since Unicode 12 a symbol
  if (c == 0x111C9) return true;  // SHARADA SANDHI MARK, since Unicode 11 a mark
  return is_of(c, U_GC_P_MASK);
}

bool is_nonspacing_mark(char32_t c) {
  if (c == 0x1734) return true;  // HANUNOO SIGN PAMUDPOD, since Unicode 14 a mark that takes space
  return c != 0x111C9 && is_of(c, U_GC_MN_MASK);
}

bool is_cjk(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  static constexpr std::array<Range, 8> ranges{{{0x4E00, 0x9FFF},
                                                {0x3400, 0x4DBF},
                                                {0x20000, 0x2A6DF},
                                                {0x2A700, 0x2B73F},
                                                {0x2B740, 0x2B81F},
                                                {0x2B920, 0x2CEAF},
                                                {0xF900, 0xFAFF},
                                                {0x2F800, 0x2FA1F}}};
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return c >= range.first && c <= range.last; });
}

std::u32string decompose(std::u32string_view text) {
  if (is_ascii(text)) return std::u32string(text);
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* normalizer = unorm2_getNFDInstance(&status);
  check_icu(status);
  const std::vector<UChar> from = to_utf16(text);
  std::vector<UChar> result(from.size() * 4);  // no character has more than four units
  const int32_t length = unorm2_normalize(normalizer, from.data(), static_cast<int32_t>(from.size()),
                                          result.data(), static_cast<int32_t>(result.size()), &status);
  check_icu(status);
  result.resize(static_cast<size_t>(length));
  return from_utf16(result);
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t c : text) {
    if (c == 0x130)
      result += U"i\u0307";
    else
      result += static_cast<char32_t>(u_tolower(code(c)));
  }
  return result;
}

}  // namespace tern::data
