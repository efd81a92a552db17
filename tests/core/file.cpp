#include <tern/core/error.h>
#include <tern/core/file.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/small_disk.h>
#include <tern/tests/core/temporary_folder.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tern;
using namespace tern::tests;

namespace {
void write_all(const std::string& path, const std::string& text) {
  write_file_atomically(path, [&](FileWriter& file) { file.write(text); });
}
}  // namespace

TEST_CASE("a file is made, and replaced as a whole") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_all(path, "first, and longer");
  CHECK(read_text(path) == "first, and longer");
  write_all(path, "second");
  CHECK(read_text(path) == "second");
  CHECK(folder.count() == 1);
}

TEST_CASE("small and large pieces arrive in their order") {
  const TemporaryFolder folder;
  std::string expected;
  write_file_atomically(folder.file("a"), [&](FileWriter& file) {
    for (const size_t bytes : {1u, 0u, 65535u, 65536u, 3u, 200000u, 65535u, 2u}) {
      const std::string piece(bytes, static_cast<char>('a' + expected.size() % 26));
      file.write(piece);
      expected += piece;
    }
  });
  CHECK(read_text(folder.file("a")) == expected);
}

TEST_CASE("the old file is untouched when writing fails, and nothing is left behind") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_all(path, "old");
  const auto fail = [&] {
    write_file_atomically(path, [](FileWriter& file) {
      file.write(std::string(100000, 'x'));
      throw IoError("the body failed");
    });
  };
  CHECK(error_of(fail) == "the body failed");
  CHECK(read_text(path) == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("readers see the old file until the new one is complete") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_all(path, "old");
  write_file_atomically(path, [&](FileWriter& file) {
    file.write("new");
    file.flush();
    CHECK(read_text(path) == "old");
  });
  CHECK(read_text(path) == "new");
}

TEST_CASE("a full device is an IoError that names the file and the cause") {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  FileWriter writer(full.get(), "checkpoint");
  writer.write("waits in memory");
  CHECK(contains(error_of<IoError>([&] { writer.flush(); }),
                 "cannot write \"checkpoint\": No space left on device"));
  const std::string large(1 << 20, 'x');
  FileWriter direct(full.get(), "checkpoint");
  CHECK(contains(error_of<IoError>([&] { direct.write(large); }), "No space left on device"));
}

TEST_CASE("a full disk leaves the old file as it was") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder);
  if (!disk.mounted()) {
    MESSAGE("skipped: mounting a small file system is not permitted here");
    return;
  }
  const std::string path = folder.file("a");
  write_all(path, "old");
  CHECK(contains(error_of<IoError>([&] { write_all(path, std::string(1 << 20, 'x')); }),
                 "cannot write \"" + path + "\": No space left on device"));
  CHECK(read_text(path) == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("a write that is cut short goes on, and the reason for the rest is reported") {
  // Beyond the largest file that the process may write, the system first takes a part, then nothing.
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  std::string error;
  {
    const FileSizeLimit limit(100000);
    error = error_of<IoError>([&] { write_all(path, std::string(150000, 'x')); });
  }
  CHECK(contains(error, "cannot write \"" + path + "\": File too large"));
  CHECK(folder.count() == 0);
}

TEST_CASE("a missing folder, a folder in the way and a device are refused by name") {
  const TemporaryFolder folder;
  const std::string missing = folder.file("missing/a");
  CHECK(contains(error_of<IoError>([&] { write_all(missing, "x"); }),
                 "cannot write \"" + missing + "\": No such file or directory"));
  const std::string taken = folder.path().string();
  CHECK(contains(error_of<IoError>([&] { write_all(taken, "x"); }),
                 "cannot write \"" + taken + "\": something that is not a regular file is there"));
  CHECK(contains(error_of<IoError>([&] { write_all("/dev/null", "x"); }), "not a regular file"));
  CHECK(contains(error_of<IoError>([&] { write_all(folder.file(std::string(300, 'n')), "x"); }),
                 "File name too long"));
  CHECK(folder.count() == 0);
}

TEST_CASE("a folder without write permission is an IoError") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may write everywhere");
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0500) == 0);
  CHECK(contains(error_of<IoError>([&] { write_all(folder.file("a"), "x"); }), "Permission denied"));
  ::chmod(folder.path().c_str(), 0700);
}

TEST_CASE("a symbolic link stays, and the file that it names is replaced") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "other");
  write_all(folder.file("other/target"), "old");
  std::filesystem::create_symlink("other/target", folder.path() / "link");
  write_all(folder.file("link"), "new");
  CHECK(std::filesystem::is_symlink(folder.path() / "link"));
  CHECK(read_text(folder.file("other/target")) == "new");
  std::filesystem::create_symlink("other/second", folder.path() / "dangling");
  write_all(folder.file("dangling"), "made");
  CHECK(read_text(folder.file("other/second")) == "made");
}

TEST_CASE("new files have the permissions that the user's mask leaves") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  write_all(folder.file("a"), "x");
  ::umask(mask);
  struct stat status {};
  REQUIRE(::stat(folder.file("a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a reader reads at any position and reports what is missing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_text(path, "0123456789");
  const FileReader file(path);
  CHECK(file.size() == 10);
  std::string text(4, ' ');
  file.read_at(text.data(), 4, 3);
  CHECK(text == "3456");
  CHECK(contains(error_of<IoError>([&] { file.read_at(text.data(), 4, 8); }),
                 "cannot read \"" + path + "\": expected 4 bytes from 8 on, but the file ends after 2"));
}

TEST_CASE("a reader refuses what is not there or no regular file") {
  const TemporaryFolder folder;
  const std::string missing = folder.file("missing");
  CHECK(contains(error_of<IoError>([&] { FileReader{missing}; }),
                 "cannot open \"" + missing + "\": No such file or directory"));
  CHECK(contains(error_of<IoError>([&] { FileReader{folder.path().string()}; }), "it is not a regular file"));
  CHECK(contains(error_of<IoError>([&] { FileReader{"/dev/zero"}; }), "it is not a regular file"));
}
