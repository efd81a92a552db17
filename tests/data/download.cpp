#include <tern/data/cifar10.h>
#include <tern/data/download.h>
#include <tern/tests/data/data_testing.h>

#include <archive.h>
#include <archive_entry.h>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

constexpr const char* md5_of_hello = "5d41402abc4b2a76b9719d911017c592";

struct Entry {
  std::string name, content;
  std::string link = {};
};

void write_archive(const fs::path& path, const std::vector<Entry>& entries) {
  archive* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_pax_restricted(writer);
  REQUIRE(archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK);
  for (const Entry& item : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, item.name.c_str());
    archive_entry_set_filetype(entry, item.link.empty() ? AE_IFREG : AE_IFLNK);
    if (!item.link.empty()) archive_entry_set_symlink(entry, item.link.c_str());
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(item.content.size()));
    REQUIRE(archive_write_header(writer, entry) == ARCHIVE_OK);
    archive_write_data(writer, item.content.data(), item.content.size());
    archive_entry_free(entry);
  }
  archive_write_free(writer);
}

// The checksum that the error for a wrong one tells.
std::string md5_of(const fs::path& path) {
  const std::string text = error_of<IoError>([&] {
    download({"file://" + path.string(), "?"}, path.string() + ".copy");
  });
  const size_t at = text.find("got ");
  REQUIRE(at != std::string::npos);
  return text.substr(at + 4, 32);
}

std::string extract_error(const TempFolder& folder, const std::vector<Entry>& entries) {
  write_archive(folder / "a.tar.gz", entries);
  return error_of<IoError>([&] { extract(folder / "a.tar.gz", folder / "into"); });
}

}  // namespace

TEST_CASE("a download appears complete under its name") {
  const TempFolder folder;
  write_file(folder / "source", "hello");
  int64_t last = 0;
  download({"file://" + (folder / "source").string(), md5_of_hello}, folder / "copy",
           {.progress = [&](int64_t done, int64_t) { last = done; }});
  CHECK(read_file(folder / "copy") == "hello");
  CHECK(last == 5);
  CHECK(names_in(folder.path()).size() == 2);
}

TEST_CASE("a download that fails leaves nothing behind") {
  const TempFolder folder;
  write_file(folder / "source", "hellO");
  const RemoteFile source{"file://" + (folder / "source").string(), md5_of_hello};
  const auto message = [&](const RemoteFile& file, const fs::path& to, const DownloadOptions& options = {}) {
    return error_of<Error>([&] { download(file, to, options); });
  };
  CHECK(contains(message(source, folder / "copy"), "expected MD5 5d41402abc4b2a76b9719d911017c592, got "));
  CHECK(contains(message({source.url + "x", ""}, folder / "copy"), "download: cannot get file://"));
  CHECK(contains(message({"ftp://localhost/x", ""}, folder / "copy"), "cannot get ftp://localhost/x"));
  CHECK(
      contains(message({"http://127.0.0.1:1/x", ""}, folder / "copy"), "cannot get http://127.0.0.1:1/x: "));
  CHECK(contains(message(source, folder / "no/copy"), "cannot be written: No such file or directory"));
  CHECK(contains(
      message(source, folder / "copy", {.progress = [](int64_t, int64_t) { throw Error("stop"); }}), "stop"));
  CHECK(names_in(folder.path()) == std::vector<std::string>{"source"});
}

TEST_CASE("an archive is unpacked below its folder") {
  const TempFolder folder;
  CHECK(extract_error(folder, {{"a/b.txt", "one"}, {"c.txt", std::string(200000, 'x')}}) == "no error");
  CHECK(read_file(folder / "into/a/b.txt") == "one");
  CHECK(read_file(folder / "into/c.txt").size() == 200000);
}

TEST_CASE("an archive that reaches outside its folder is refused") {
  const TempFolder folder;
  CHECK(contains(extract_error(folder, {{"../out", "x"}}), "an entry \"../out\" would lie outside"));
  CHECK(contains(extract_error(folder, {{"a/../../out", "x"}}), "would lie outside the target folder"));
  CHECK(contains(extract_error(folder, {{"/tmp/out", "x"}}), "an entry \"/tmp/out\" would lie outside"));
  CHECK(contains(extract_error(folder, {{"a", "", "/tmp"}}), "\"a\" is neither a file nor a folder"));
  CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("a damaged archive is an error") {
  const TempFolder folder;
  write_archive(folder / "a", {{"b", std::string(100000, 'x')}});
  write_file(folder / "a", read_file(folder / "a").substr(0, 100));
  CHECK(contains(error_of<IoError>([&] { extract(folder / "a", folder / "into"); }), "a: "));
  write_file(folder / "a", "hello");
  CHECK(contains(error_of<IoError>([&] { extract(folder / "a", folder / "into"); }), "Unrecognized archive"));
  CHECK(
      contains(error_of<IoError>([&] { extract(folder / "no", folder / "into"); }), "no: cannot be opened"));
}

TEST_CASE("CIFAR-10 is downloaded, checked, unpacked and read") {
  const TempFolder folder;
  const std::string record = '\3' + std::string(3072, 'x');
  const std::string inner = "cifar-10-batches-bin/";
  write_archive(folder / "a", {{inner + "data_batch_1.bin", record}, {inner + "test_batch.bin", record}});
  const RemoteFile source{"file://" + (folder / "a").string(), md5_of(folder / "a")};
  download_cifar10(folder / "data", {}, source);
  CHECK(cifar10(folder / "data").size() == 1);
  CHECK(names_in(folder / "data") == std::vector<std::string>{"cifar-10-batches-bin"});
  download_cifar10(folder / "data", {}, {"file:///nowhere", ""});
  CHECK(cifar10(folder / "data", {.train = false}).labels().data<int64_t>()[0] == 3);
}

TEST_CASE("a download of CIFAR-10 that fails says what to do, and leaves nothing behind") {
  const TempFolder folder;
  const auto message = [&](const RemoteFile& source) {
    return error_of<IoError>([&] { download_cifar10(folder / "data", {}, source); });
  };
  const std::string text = message({"http://127.0.0.1:1/cifar.tar.gz", ""});
  CHECK(contains(text, "cannot get http://127.0.0.1:1/cifar.tar.gz"));
  CHECK(contains(text, "get http://127.0.0.1:1/cifar.tar.gz on another machine and unpack it in "));
  write_archive(folder / "a", {{"other/data_batch_1.bin", "x"}});
  const RemoteFile other{"file://" + (folder / "a").string(), md5_of(folder / "a")};
  CHECK(contains(message(other), "expected the folder cifar-10-batches-bin in the archive"));
  CHECK(names_in(folder / "data").empty());
}
