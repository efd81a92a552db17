#include <tern/core/error.h>
#include <tern/distributed/file_store.h>
#include <tern/distributed/socket.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/temporary_folder.h>

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

// A process that opens the store, sets the key "a" and stays until it is killed.
class Other {
 public:
  Other(const std::string& path, int64_t world_size) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto store = file_store(path, world_size);
      store->set("a", "of an earlier run");
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char byte = 0;
    ::close(ends[1]);
    REQUIRE(::read(ends[0], &byte, 1) == 1);
    ::close(ends[0]);
  }
  ~Other() { kill(); }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  std::string name() const {
    const std::string self = this_process();
    return self.substr(0, self.find("pid ") + 4) + std::to_string(pid_) + ")";
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("runs one after the other at one path don't see each other, and leave nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  for (int run = 0; run < 3; ++run) {
    const auto one = file_store(path, 2), other = file_store(path, 2);
    CHECK(one->add("runs", 1) == 1);
    CHECK(other->add("runs", 1) == 2);
  }
  CHECK(folder.count() == 0);
}

TEST_CASE("what a killed run left is never read") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  Other one(path, 2), other(path, 2);
  one.kill();
  other.kill();
  CHECK(folder.count() == 1);
  const auto store = file_store(path, 2);
  CHECK(!store->find("a"));
  const auto second = file_store(path, 2);
  store->set("b", "1");
  CHECK(second->find("b") == "1");
}

TEST_CASE("a run that has not all ended is waited for, and named in the error") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  Other one(path, 2), other(path, 2);
  const auto try_join = [&] {
    return error_of<DistributedError>([&] { file_store(path, 2, {.timeout = 30ms}); });
  };
  CHECK(contains(try_join(), "an earlier run still uses it: 2 of its 2 processes live (" + one.name()));
  one.kill();
  CHECK(contains(try_join(),
                 "1 of its 2 processes live (" + other.name() + "). End them, or use another path"));
  auto next = std::async(std::launch::async, [&] { return file_store(path, 2); });
  CHECK(next.wait_for(50ms) == std::future_status::timeout);
  other.kill();
  CHECK(!next.get()->find("a"));
}

TEST_CASE("a gathering that one has left is not joined") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  Other one(path, 3), other(path, 3);
  one.kill();
  CHECK(contains(error_of<DistributedError>([&] { file_store(path, 3, {.timeout = 20ms}); }),
                 "1 of its 3 processes live"));
}

TEST_CASE("another job or another world size is an error at once") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  const auto store = file_store(path, 3, {.job = "seven"});
  std::string error = error_of<DistributedError>([&] { file_store(path, 2, {.job = "seven"}); });
  CHECK(contains(error, "processes of job 'seven' with world size 3 gather here (" + this_process()));
  CHECK(contains(error, "this is job 'seven' with world size 2"));
  error = error_of<DistributedError>([&] { file_store(path, 3, {.job = "eight"}); });
  CHECK(contains(error, "this is job 'eight' with world size 3"));
}

TEST_CASE("a record that a dying process left half written is written over") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  const auto one = file_store(path, 2), other = file_store(path, 2);
  one->set("a", "1");
  write_text(path, read_text(path) + std::string("\x40\0\0\0Sabc", 8));
  CHECK(other->find("a") == "1");
  other->set("b", "2");
  CHECK(one->find("b") == "2");
  CHECK(one->find("a") == "1");
}

TEST_CASE("a file that is removed under a job is an error") {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  const auto store = file_store(path, 1);
  std::filesystem::remove(path);
  CHECK(
      contains(error_of<DistributedError>([&] { store->set("a", "1"); }), "was removed while the job runs"));
}

TEST_CASE("files that are something else are left alone") {
  const TemporaryFolder folder;
  write_text(folder.file("text"), "precious");
  CHECK(contains(error_of<DistributedError>([&] { file_store(folder.file("text"), 2); }),
                 "the file holds something else"));
  CHECK(read_text(folder.file("text")) == "precious");
  CHECK(contains(error_of<DistributedError>([&] { file_store(folder.file("no/folder"), 2); }),
                 "cannot be opened"));
  CHECK_THROWS_AS(file_store("/dev/null", 2), DistributedError);
  CHECK_THROWS_AS(file_store(folder.file("x"), 0), Error);
  CHECK_THROWS_AS(file_store("", 2), Error);
}
