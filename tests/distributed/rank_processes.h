// Ranks as processes: each runs one skipped test case of the test program itself.
//
//   TEST_CASE("child: a rank that sums" * doctest::skip()) {
//     const Group group = group_of_child();
//     …
//   }
//   RankProcesses ranks("child: a rank that sums", 4, options);
//   for (int rank = 0; rank < 4; ++rank) CHECK(ranks.passed(rank));
#pragma once

#include <tern/distributed/collectives.h>
#include <tern/distributed/file_store.h>
#include <tern/tests/core/child_process.h>
#include <tern/tests/core/temporary_folder.h>

#include <cstdlib>

namespace tern::tests {

class RankProcesses {
 public:
  /// Starts them; of `options` the timeout and shared_memory reach the ranks.
  RankProcesses(const std::string& name, int size, const distributed::ProcessGroupOptions& options) {
    for (int rank = 0; rank < size; ++rank) {
      children_.push_back(start_child(
          name, {"TERN_TEST_RANK=" + std::to_string(rank), "TERN_TEST_SIZE=" + std::to_string(size),
                 "TERN_TEST_FILE=" + (folder_.path() / "store").string(), "TERN_NUM_THREADS=1",
                 "TERN_TEST_TIMEOUT=" + std::to_string(options.timeout.count()),
                 "TERN_DISTRIBUTED_SHARED_MEMORY=" + std::to_string(options.shared_memory)}));
    }
  }

  pid_t process(int rank) const { return children_[static_cast<size_t>(rank)].process; }

  ChildResult finish(int rank) { return children_[static_cast<size_t>(rank)].finish(); }

  /// Waits for the end of a rank's test; says what it printed if it did not pass.
  bool passed(int rank) {
    const ChildResult result = finish(rank);
    const bool ok = result.status == 0 && result.output.find("1 passed") != std::string::npos;
    if (!ok) MESSAGE("rank ", rank, " ended with ", result.status, ": ", result.output);
    return ok;
  }

 private:
  TemporaryFolder folder_;
  std::vector<Child> children_;
};

/// The group, in a rank's own process.
inline distributed::Group group_of_child() {
  const auto number = [](const char* variable) { return std::atoi(std::getenv(variable)); };
  const int rank = number("TERN_TEST_RANK"), size = number("TERN_TEST_SIZE");
  return distributed::make_process_group("gloo", distributed::file_store(std::getenv("TERN_TEST_FILE"), size),
                                         rank, size,
                                         {.timeout = distributed::Duration(number("TERN_TEST_TIMEOUT"))});
}

}  // namespace tern::tests
