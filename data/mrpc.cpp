#include <tern/data/mrpc.h>

#include <tern/core/error.h>
#include <tern/data/csv.h>

namespace tern::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* train_name = "msr_paraphrase_train.txt";
constexpr const char* test_name = "msr_paraphrase_test.txt";

fs::path find_file(const fs::path& folder, const char* name) {
  for (const fs::path& path : {folder / name, folder / "mrpc" / name}) {
    if (fs::exists(path)) return path;
  }
  tern::detail::raise<IoError>(false, "mrpc: neither ", folder.string(), " nor mrpc in it holds ", name);
}

int64_t read_label(const std::string& text, const CsvReader& reader) {
  check_as<IoError>(text == "0" || text == "1", reader.path().string(), ", line ", reader.line(),
                    ": expected a label of 0 or 1, got \"", text, "\"");
  return text == "1" ? 1 : 0;
}

}  // namespace

std::vector<SentencePair> mrpc(const fs::path& folder, const MrpcOptions& options) {
  CsvReader reader(find_file(folder, options.train ? train_name : test_name),
                   {.delimiter = '\t', .quoting = false});
  std::vector<std::string> fields;
  const std::vector<std::string> header{"Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"};
  check_as<IoError>(reader.next(fields) && fields == header, reader.path().string(),
                    ", line 1: expected the columns Quality, #1 ID, #2 ID, #1 String and #2 String");
  std::vector<SentencePair> pairs;
  while (reader.next(fields)) pairs.push_back({fields[3], fields[4], read_label(fields[0], reader)});
  return pairs;
}

MrpcFiles mrpc_files() {
  const std::string place = "https://dl.fbaipublicfiles.com/senteval/senteval_data/";
  return {{place + train_name, "08fc0f011ec0c9cc9a260eac25bb0dc8"},
          {place + test_name, "626a37bd08407ea80abccbeb4adeac85"}};
}

void download_mrpc(const fs::path& folder, const DownloadOptions& options, const MrpcFiles& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  check_as<IoError>(!error, folder.string(), ": cannot be made: ", error.message());
  for (const auto& [file, name] : {std::pair{files.train, train_name}, std::pair{files.test, test_name}}) {
    if (fs::exists(folder / name)) continue;
    try {
      download(file, folder / name, options);
    } catch (const IoError& failure) {
      std::throw_with_nested(IoError(std::string(failure.what()) + "\nWithout it: get " + file.url +
                                     " on another machine and put it into " + folder.string() +
                                     ", or name a folder that holds " + train_name + " and " + test_name));
    }
  }
}

}  // namespace tern::data
