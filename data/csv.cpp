#include <tern/data/csv.h>

#include <tern/core/error.h>

#include <algorithm>

namespace tern::data {
namespace {

constexpr char quote = '"';

void drop_return(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, const CsvOptions& options)
    : lines_(path), options_(options) {
  const char c = options.delimiter;
  check(c != quote && c != '\n' && c != '\r' && c != '\0',
        "CsvReader: ", "the delimiter must not be a quote, a line's end or zero");
}

void CsvReader::require(bool holds, const char* problem) const {
  check_as<IoError>(holds, path().string(), ", line ", lines_.number(), ": ", problem);
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  do {
    if (!lines_.next_raw(text_)) return false;
  } while (text_.empty() || text_ == "\r");
  line_ = lines_.number();
  if (options_.quoting)
    read_quoting(fields);
  else
    read_plain(fields);
  if (columns_ == 0) {
    columns_ = fields.size();
    first_line_ = line_;
  }
  check_as<IoError>(fields.size() == columns_, path().string(), ", line ", line_, ": expected ", columns_,
                    " fields, as in line ", first_line_, ", got ", fields.size());
  return true;
}

void CsvReader::read_plain(std::vector<std::string>& fields) const {
  std::string text = text_;
  drop_return(text);
  size_t start = 0;
  for (size_t at = text.find(options_.delimiter); at != std::string::npos;
       at = text.find(options_.delimiter, start)) {
    fields.push_back(text.substr(start, at - start));
    start = at + 1;
  }
  fields.push_back(text.substr(start));
}

// Appends the field whose quote opens before `at` to `field`, over as many lines as it has; returns the place
// behind the closing quote.
size_t CsvReader::read_quoted(size_t at, std::string& field) {
  for (;;) {
    const size_t close = text_.find(quote, at);
    field.append(text_, at, close == std::string::npos ? close : close - at);
    if (close == std::string::npos) {
      field += '\n';
      check_as<IoError>(lines_.next_raw(text_), path().string(), ", line ", line_,
                        ": a quoted field of this record never ends");
      at = 0;
    } else if (close + 1 < text_.size() && text_[close + 1] == quote) {
      field += quote;
      at = close + 2;
    } else {
      return close + 1;
    }
  }
}

void CsvReader::read_quoting(std::vector<std::string>& fields) {
  for (size_t at = 0;; ++at) {
    std::string& field = fields.emplace_back();
    if (at < text_.size() && text_[at] == quote) {
      at = read_quoted(at + 1, field);
      const std::string_view rest = std::string_view(text_).substr(at);
      if (rest.empty() || rest == "\r") return;
      require(rest.front() == options_.delimiter, "expected a delimiter behind the closing quote");
      continue;
    }
    const size_t end = text_.find(options_.delimiter, at);
    field = text_.substr(at, end == std::string::npos ? end : end - at);
    if (end == std::string::npos) drop_return(field);
    require(field.find(quote) == std::string::npos,
            "a quote inside a field that does not begin with one (quoting = false takes quotes as they are)");
    if (end == std::string::npos) return;
    at = end;
  }
}

size_t Table::column(const std::string& name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  check(found != columns.end(), "Table: there is no column ", name, " among ", joined(columns));
  return static_cast<size_t>(found - columns.begin());
}

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  CsvReader reader(path, options);
  Table table;
  check_as<IoError>(reader.next(table.columns), path.string(), ": is empty; expected names of columns");
  std::vector<std::string> sorted = table.columns;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  check_as<IoError>(twice == sorted.end(), path.string(), ": two columns have one name");
  for (std::vector<std::string> fields; reader.next(fields);) table.rows.push_back(fields);
  return table;
}

}  // namespace tern::data
