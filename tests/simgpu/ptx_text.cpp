#include <tern/tests/simgpu/ptx_text.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace simgpu {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// The text without comments; its lines keep their numbers.
std::string without_comments(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size() && text[at] != '\0';) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      const size_t end = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
      result.append(static_cast<size_t>(std::count(text.begin() + static_cast<ptrdiff_t>(at),
                                                   text.begin() + static_cast<ptrdiff_t>(end), '\n')),
                    '\n');
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// Reads the text statement by statement.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  PtxModule read() {
    for (;;) {
      skip_space();
      if (at_ >= text_.size()) return std::move(module_);
      const std::string_view rest = std::string_view(text_).substr(at_);
      if (is_line_directive(rest)) {
        line_directive();
      } else if (starts_with(rest, ".section")) {
        skip_section();
      } else {
        const size_t end = rest.find_first_of("(;{=");
        if (end == std::string_view::npos) fail("the text ends in a declaration");
        const std::string_view head = rest.substr(0, end);
        const bool is_function = head.find(".entry") != head.npos || head.find(".func") != head.npos;
        is_function ? function() : variable();
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw PtxError(line_, what); }

  void advance(size_t end) {
    for (; at_ < std::min(end, text_.size()); ++at_) line_ += text_[at_] == '\n';
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) advance(at_ + 1);
  }

  /// Directives that end with the line instead of a semicolon.
  static bool is_line_directive(std::string_view rest) {
    for (const char* name : {".version", ".target", ".address_size", ".file", ".loc ", ".loc\t"}) {
      if (starts_with(rest, name)) return true;
    }
    return false;
  }

  void line_directive() {
    const size_t end = text_.find('\n', at_);
    const std::string line = text_.substr(at_, end - at_);
    if (starts_with(line, ".file")) {
      const size_t quote = line.find('"');
      module_.files[std::atoi(line.c_str() + 5)] = line.substr(quote + 1, line.rfind('"') - quote - 1);
    } else if (starts_with(line, ".loc")) {
      char* next = nullptr;
      file_ = static_cast<int>(std::strtol(line.c_str() + 4, &next, 10));
      source_line_ = static_cast<int>(std::strtol(next, nullptr, 10));
    }
    advance(end);
  }

  void skip_section() {
    advance(text_.find('{', at_));
    advance(text_.find('}', at_) + 1);
  }

  void variable() {
    size_t end = at_;
    for (bool quoted = false; end < text_.size() && (quoted || text_[end] != ';'); ++end) {
      quoted ^= text_[end] == '"';
    }
    const std::string declaration = text_.substr(at_, end - at_);
    if (!starts_with(declaration, ".pragma") && !starts_with(declaration, ".alias")) {
      module_.variables.push_back(parse_variable(declaration, line_));
    } else if (starts_with(declaration, ".alias")) {
      fail(declaration + " is not simulated");
    }
    advance(end + 1);
  }

  std::vector<PtxVariable> parameter_list() {
    const size_t end = text_.find(')', at_);
    std::vector<PtxVariable> result;
    for (const std::string& part : split(std::string_view(text_).substr(at_ + 1, end - at_ - 1), ',')) {
      if (!part.empty()) result.push_back(parse_variable(part, line_));
    }
    advance(end + 1);
    skip_space();
    return result;
  }

  void function() {
    PtxFunction result;
    result.line = line_;
    const size_t kind = std::min(text_.find(".entry", at_), text_.find(".func", at_));
    result.is_entry = text_.compare(kind, 6, ".entry") == 0;
    advance(kind + (result.is_entry ? 6 : 5));
    skip_space();
    if (text_[at_] == '(') result.results = parameter_list();
    const size_t name_end = text_.find_first_of("( \t\r\n;{", at_);
    result.name = text_.substr(at_, name_end - at_);
    advance(name_end);
    skip_space();
    if (text_[at_] == '(') result.parameters = parameter_list();
    const size_t end = text_.find_first_of("{;", at_);
    attributes(result, text_.substr(at_, end - at_));
    advance(end + 1);
    if (text_[end] == ';') {
      module_.functions.try_emplace(result.name, result);
    } else {
      body(result);
      module_.functions.insert_or_assign(result.name, std::move(result));
    }
  }

  static void attributes(PtxFunction& function, const std::string& text) {
    const size_t at = text.find(".maxntid");
    if (at == text.npos) return;
    function.most_threads = 1;
    const size_t end = text.find('.', at + 1);
    for (const std::string& part : split(std::string_view(text).substr(at + 8, end - at - 8), ',')) {
      function.most_threads *= static_cast<uint32_t>(std::max(1, std::atoi(part.c_str())));
    }
  }

  void add(PtxFunction& function, const std::string& text) {
    const std::string statement = trimmed(text);
    if (statement.empty()) return;
    function.body.push_back({statement, statement_line_, file_, source_line_});
  }

  /// Statements up to the brace that closes the function.
  void body(PtxFunction& function) {
    file_ = source_line_ = 0;
    for (int depth = 0;;) {
      skip_space();
      statement_line_ = line_;
      if (at_ >= text_.size()) fail("the text ends in a function");
      const std::string_view rest = std::string_view(text_).substr(at_);
      if (is_line_directive(rest)) {
        line_directive();
      } else if (rest[0] == '{' || rest[0] == '}') {
        depth += rest[0] == '{' ? 1 : -1;
        advance(at_ + 1);
        if (depth < 0) return;
        add(function, std::string(1, rest[0]));
      } else {
        statement(function);
      }
    }
  }

  /// One statement: up to its semicolon, or a label's colon. Vectors stand in braces of their own.
  void statement(PtxFunction& function) {
    size_t end = at_;
    bool quoted = false;
    for (; end < text_.size(); ++end) {
      const char symbol = text_[end];
      quoted ^= symbol == '"';
      if (quoted) continue;
      if (symbol == ';') break;
      const bool double_colon = symbol == ':' && (text_[end + 1] == ':' || text_[end - 1] == ':');
      if (symbol == ':' && !double_colon) break;
    }
    if (end >= text_.size()) fail("the text ends in a statement");
    const bool is_label = text_[end] == ':';
    add(function, text_.substr(at_, end - at_ + (is_label ? 1 : 0)));
    advance(end + 1);
  }

  const std::string& text_;
  PtxModule module_;
  size_t at_ = 0;
  int line_ = 1, statement_line_ = 1, file_ = 0, source_line_ = 0;
};

uint64_t array_length(const std::string& word, size_t bracket) {
  uint64_t count = 1;
  for (; bracket != word.npos; bracket = word.find('[', bracket + 1)) {
    count *= std::strtoull(word.c_str() + bracket + 1, nullptr, 0);
  }
  return count;
}

}  // namespace

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == text.npos ? std::string() : std::string(text.substr(begin, end - begin + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char symbol = text[at];
    if (symbol == '{' || symbol == '[' || symbol == '(') ++depth;
    if (symbol == '}' || symbol == ']' || symbol == ')') --depth;
    if (symbol != separator || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  const std::string last = trimmed(text.substr(begin));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

bool parse_type(std::string_view name, PtxType& type) {
  static const std::map<std::string_view, PtxType> types = {
      {"pred", {4, 'p', 1}},   {"f16", {2, 'g', 1}}, {"f16x2", {4, 'g', 2}}, {"bf16", {2, 'h', 1}},
      {"bf16x2", {4, 'h', 2}}, {"f32", {4, 'f', 1}}, {"f64", {8, 'f', 1}},   {"u8", {1, 'u', 1}},
      {"u16", {2, 'u', 1}},    {"u32", {4, 'u', 1}}, {"u64", {8, 'u', 1}},   {"s8", {1, 's', 1}},
      {"s16", {2, 's', 1}},    {"s32", {4, 's', 1}}, {"s64", {8, 's', 1}},   {"b8", {1, 'b', 1}},
      {"b16", {2, 'b', 1}},    {"b32", {4, 'b', 1}}, {"b64", {8, 'b', 1}},   {"b128", {16, 'b', 1}},
      {"tf32", {4, 't', 1}}};
  const auto found = types.find(name);
  if (found == types.end()) return false;
  type = found->second;
  return true;
}

PtxVariable parse_variable(const std::string& text, int line) {
  PtxVariable result;
  result.line = line;
  const size_t equals = text.find('=');
  if (equals != text.npos) result.initial = trimmed(std::string_view(text).substr(equals + 1));
  std::string declaration = text.substr(0, equals);
  for (size_t at; (at = declaration.find_first_of("\t\r\n")) != declaration.npos;) declaration[at] = ' ';
  bool is_align = false, is_pointer = false;
  for (const std::string& word : split(declaration, ' ')) {
    if (word.empty()) continue;
    if (is_align) {
      result.align = std::strtoull(word.c_str(), nullptr, 10);
      is_align = false;
    } else if (word[0] == '.') {
      const std::string name = word.substr(1);
      is_align = name == "align";
      is_pointer = is_pointer || name == "ptr";  // whose alignment is that of what it points to
      if (name == "extern") result.is_external = true;
      const bool is_space = name == "global" || name == "const" || name == "shared" || name == "local";
      if ((is_space && result.space.empty()) || name == "param" || name == "reg") result.space = name;
      parse_type(name, result.type);
    } else if (result.name.empty()) {
      const size_t bracket = word.find('[');
      result.name = word.substr(0, bracket);
      result.bytes = result.type.bytes * array_length(word, bracket);
    }
  }
  if (result.name.empty() || result.type.bytes == 0) throw PtxError(line, "a declaration: " + text);
  result.align = std::max<uint64_t>(is_pointer ? 1 : result.align, result.type.bytes);
  return result;
}

PtxModule read_ptx(const std::string& text) {
  const std::string bare = without_comments(text);
  return Reader(bare).read();
}

}  // namespace simgpu
