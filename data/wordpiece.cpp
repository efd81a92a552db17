#include <tern/data/wordpiece.h>

#include <tern/core/error.h>
#include <tern/data/lines.h>

#include <algorithm>

namespace tern::data {
namespace {

constexpr std::string_view inside_mark = "##";

bool is_start_of_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

int64_t count_characters(std::string_view word) {
  return std::count_if(word.begin(), word.end(), is_start_of_character);
}

std::vector<std::string> read_tokens(const std::filesystem::path& path) {
  LineReader lines(path);
  std::vector<std::string> tokens;
  for (std::string line; lines.next(line);) tokens.push_back(line);
  check_as<IoError>(!tokens.empty(), path.string(), ": holds no tokens; expected one a line");
  return tokens;
}

struct Piece {
  int64_t id = -1;
  size_t length = 0;
};

// The longest token at the start of `rest`.
Piece longest(const Vocabulary& vocabulary, std::string_view rest, bool inside) {
  for (size_t length = rest.size(); length > 0; --length) {
    if (length < rest.size() && !is_start_of_character(rest[length])) continue;
    const std::string_view piece = rest.substr(0, length);
    const int64_t id = inside ? vocabulary.find_inside(piece) : vocabulary.find(piece);
    if (id >= 0) return {id, length};
  }
  return {};
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  check(!tokens_.empty(), "Vocabulary: needs at least one token");
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const auto id = static_cast<int64_t>(i);
    ids_[tokens_[i]] = id;
    if (tokens_[i].starts_with(inside_mark)) inside_[tokens_[i].substr(inside_mark.size())] = id;
  }
}

Vocabulary::Vocabulary(const std::filesystem::path& path) : Vocabulary(read_tokens(path)) {}

const std::string& Vocabulary::token(int64_t id) const {
  check(id >= 0 && id < size(), "Vocabulary: there is no token ", id, " among ", size());
  return tokens_[static_cast<size_t>(id)];
}

int64_t Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

int64_t Vocabulary::find_inside(std::string_view piece) const {
  const auto found = inside_.find(piece);
  return found == inside_.end() ? -1 : found->second;
}

void append_pieces(const Vocabulary& vocabulary, std::string_view word, int64_t unknown,
                   int64_t max_characters, std::vector<int64_t>& ids) {
  const size_t before = ids.size();
  bool fits = count_characters(word) <= max_characters;
  for (size_t at = 0; fits && at < word.size();) {
    const Piece piece = longest(vocabulary, word.substr(at), at > 0);
    fits = piece.length > 0;
    if (fits) ids.push_back(piece.id);
    at += piece.length;
  }
  if (fits) return;
  ids.resize(before);
  ids.push_back(unknown);
}

}  // namespace tern::data
