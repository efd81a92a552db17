#include <tern/data/csv.h>
#include <tern/data/mrpc.h>
#include <tern/tests/data/data_testing.h>

#include <numeric>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

using Fields = std::vector<std::string>;
using Records = std::vector<Fields>;

Records records_of(const std::string& text, const CsvOptions& options = {}) {
  const TempFolder folder;
  write_file(folder / "x.csv", text);
  CsvReader reader(folder / "x.csv", options);
  Records records;
  for (Fields fields; reader.next(fields);) records.push_back(fields);
  return records;
}

std::string error_in(const std::string& text, const CsvOptions& options = {}) {
  return error_of<IoError>([&] { records_of(text, options); });
}

constexpr const char* mrpc_header = "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n";

}  // namespace

TEST_CASE("CSV fields may be quoted, and then hold delimiters, line ends and quotes") {
  CHECK(records_of("a,b\r\n1,\"x, y\"\r\n") == Records{{"a", "b"}, {"1", "x, y"}});
  CHECK(records_of("\"a\"\"b\"\"\",\"\"\n") == Records{{"a\"b\"", ""}});
  CHECK(records_of("\"one\ntwo\r\n\nthree\",x\n4,5") == Records{{"one\ntwo\r\n\nthree", "x"}, {"4", "5"}});
  CHECK(records_of(",\n,\n") == Records{{"", ""}, {"", ""}});
  CHECK(records_of("\"a\",\n") == Records{{"a", ""}});
  CHECK(records_of(" a , b") == Records{{" a ", " b"}});
  CHECK(records_of("\n\r\na\n\nb\n\n") == Records{{"a"}, {"b"}});
  CHECK(records_of("\xEF\xBB\xBF\"a\"\n") == Records{{"a"}});
  CHECK(records_of("").empty());
  const std::string longer(200000, 'x');
  CHECK(records_of("a," + longer + "\n\"" + longer + "\n\",b\n") ==
        Records{{"a", longer}, {longer + "\n", "b"}});
}

TEST_CASE("without quoting a quote is a character like others") {
  const CsvOptions tsv{.delimiter = '\t', .quoting = false};
  CHECK(records_of("a\tb\n\"x\t\"y\" z\r\n", tsv) == Records{{"a", "b"}, {"\"x", "\"y\" z"}});
  CHECK(records_of("\t\n", tsv) == Records{{"", ""}});
}

TEST_CASE("a table that is not one is an error with file and line") {
  CHECK(contains(error_in("a,b\n\"x\ny\",2\n1,2,3\n"),
                 "x.csv, line 4: expected 2 fields, as in line 1, got 3"));
  CHECK(contains(error_in("a\n1,2\n"), "x.csv, line 2: expected 1 fields, as in line 1, got 2"));
  CHECK(contains(error_in("a,b\nx\"y,2\n"), "x.csv, line 2: a quote inside a field"));
  CHECK(contains(error_in("a,b\n\"x\"y,2\n"), "x.csv, line 2: expected a delimiter behind the closing"));
  CHECK(contains(error_in("a,b\n\"x,2\n3,4\n"), "x.csv, line 2: a quoted field of this record never ends"));
  CHECK(contains(error_of<Error>([] { records_of("a", {.delimiter = '"'}); }), "the delimiter must not be"));
  CHECK(contains(error_of<IoError>([] { CsvReader("/nowhere/x.csv"); }), "there is no such file"));
}

TEST_CASE("a table's columns are found by name") {
  const TempFolder folder;
  write_file(folder / "x.csv", "id,text\n1,\"a, b\"\n2,c\n");
  const Table table = read_csv(folder / "x.csv");
  CHECK(table.rows.size() == 2);
  CHECK(table.rows[0][table.column("text")] == "a, b");
  CHECK(contains(error_of<Error>([&] { table.column("x"); }), "there is no column x among id, text"));
  write_file(folder / "x.csv", "id,id\n");
  CHECK(contains(error_of<IoError>([&] { read_csv(folder / "x.csv"); }), "two columns have one name"));
  write_file(folder / "x.csv", "\n");
  CHECK(contains(error_of<IoError>([&] { read_csv(folder / "x.csv"); }), "x.csv: is empty"));
}

TEST_CASE("MRPC's files are read as they are published") {
  const TempFolder folder;
  const auto message = [&] { return error_of<IoError>([&] { mrpc(folder.path(), {.train = false}); }); };
  CHECK(contains(message(), "nor mrpc in it holds msr_paraphrase_test.txt"));
  write_file(folder / "msr_paraphrase_test.txt",
             std::string(mrpc_header) + "1\t10\t11\tHe said \"no\".\t\"No,\" he said.\r\n");
  const auto pairs = mrpc(folder.path(), {.train = false});
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].first == "He said \"no\".");
  CHECK(pairs[0].second == "\"No,\" he said.");
  CHECK(pairs[0].label == 1);
  write_file(folder / "msr_paraphrase_test.txt", std::string(mrpc_header) + "2\t1\t1\ta\tb\n");
  CHECK(contains(message(), "test.txt, line 2: expected a label of 0 or 1, got \"2\""));
  write_file(folder / "msr_paraphrase_test.txt", "1\t2\n");
  CHECK(contains(message(), "test.txt, line 1: expected the columns Quality"));
}

TEST_CASE("MRPC as it lies here has its published counts") {
  const auto folder = shared_data("mrpc");
  if (!folder) return;
  const auto train = mrpc(*folder), test = mrpc(*folder, {.train = false});
  const auto positive = [](int64_t sum, const SentencePair& pair) { return sum + pair.label; };
  CHECK(train.size() == 4076);
  CHECK(test.size() == 1725);
  CHECK(std::accumulate(train.begin(), train.end(), int64_t{0}, positive) == 2753);
  CHECK(std::accumulate(test.begin(), test.end(), int64_t{0}, positive) == 1147);
  CHECK(test[0].first.starts_with("PCCW's chief operating officer, Mike Butcher"));
}

TEST_CASE("MRPC is downloaded and checked; what fails says what to do") {
  const TempFolder folder;
  write_file(folder / "source", "hello");
  const RemoteFile good{"file://" + (folder / "source").string(), "5d41402abc4b2a76b9719d911017c592"};
  download_mrpc(folder / "data", {}, {good, good});
  CHECK(read_file(folder / "data/msr_paraphrase_train.txt") == "hello");
  CHECK(read_file(folder / "data/msr_paraphrase_test.txt") == "hello");
  download_mrpc(folder / "data", {}, {{"file:///nowhere", ""}, {"file:///nowhere", ""}});
  const std::string text = error_of<IoError>([&] {
    download_mrpc(folder / "other", {}, {good, {"http://127.0.0.1:1/x.txt", ""}});
  });
  CHECK(contains(text, "get http://127.0.0.1:1/x.txt on another machine and put it into "));
  CHECK(names_in(folder / "other") == Fields{"msr_paraphrase_train.txt"});
}
