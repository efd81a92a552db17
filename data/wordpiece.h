// Vocabularies of subwords, and words in their pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tern::data {

/// Tokens and their ids: the token of line i of a vocab.txt, counted from 0, has id i. Pieces inside a word
/// begin with "##".
class Vocabulary {
 public:
  /// Throws Error for an empty list. Of a token that is given twice the later id counts.
  explicit Vocabulary(std::vector<std::string> tokens);
  /// Reads a vocab.txt. Throws IoError naming the file when it is missing, unreadable or empty.
  explicit Vocabulary(const std::filesystem::path& path);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// The token of an id. Throws Error when there is none.
  const std::string& token(int64_t id) const;
  /// The id of a token, or -1.
  int64_t find(std::string_view token) const;
  /// The id of the token "##" + piece, or -1.
  int64_t find_inside(std::string_view piece) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Ids = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;

  std::vector<std::string> tokens_;
  Ids ids_, inside_;
};

/// Appends the ids of the pieces of one word (UTF-8, without spaces) to `ids`: each time the longest token
/// that fits, from the left. Where nothing fits, and for words of more than `max_characters` code points, the
/// whole word is one `unknown`. (WordPiece; Schuster and Nakajima, 2012.)
void append_pieces(const Vocabulary& vocabulary, std::string_view word, int64_t unknown,
                   int64_t max_characters, std::vector<int64_t>& ids);

}  // namespace tern::data
