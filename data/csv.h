// Tables in text files: comma-separated (RFC 4180) and tab-separated values.
//
//   data::CsvReader reader("train.tsv", {.delimiter = '\t', .quoting = false});
//   for (std::vector<std::string> fields; reader.next(fields);) …
//
// Files may be compressed with gzip, begin with a byte-order mark, and end their lines with "\n" or "\r\n".
#pragma once

#include <tern/data/lines.h>

namespace tern::data {

struct CsvOptions {
  char delimiter = ',';
  /// Fields may be "quoted", and then hold delimiters, line ends and, doubled, quotes. Without it a quote is
  /// a character like others, as in GLUE's files of tab-separated values.
  bool quoting = true;
};

/// Reads a table record by record; one thread.
class CsvReader {
 public:
  /// Throws IoError as InputFile does, and Error for a delimiter that is a quote or a line's end.
  explicit CsvReader(const std::filesystem::path& path, const CsvOptions& options = {});

  /// The next record's fields; false behind the last. Empty lines are passed over. Throws IoError naming file
  /// and line for a record with more or fewer fields than the first, and, with quoting, for a quote inside
  /// an unquoted field, text behind a closing quote, and a quote that the file's end leaves open.
  bool next(std::vector<std::string>& fields);
  /// The line on which the record that next() gave begins, from 1; 0 before the first.
  int64_t line() const { return line_; }
  const std::filesystem::path& path() const { return lines_.path(); }

 private:
  void read_plain(std::vector<std::string>& fields) const;
  void read_quoting(std::vector<std::string>& fields);
  size_t read_quoted(size_t at, std::string& field);
  void require(bool holds, const char* problem) const;

  LineReader lines_;
  CsvOptions options_;
  std::string text_;  // of the current line
  int64_t line_ = 0, first_line_ = 0;
  size_t columns_ = 0;
};

/// A table whose first record names its columns.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  /// The place of a column in each row. Throws Error naming the columns that there are when it is none.
  size_t column(const std::string& name) const;
};

/// Reads a whole file. Throws IoError as CsvReader does, and when the file is empty or names a column twice.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace tern::data
