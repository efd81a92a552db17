// What ends a save half-way: a process that is killed, a disk that fills up.
#include <tern/core/error.h>
#include <tern/tests/core/child_process.h>
#include <tern/tests/core/small_disk.h>
#include <tern/tests/train/small_run.h>

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

using namespace tern;
using namespace tern::tests;

namespace {

using std::chrono::milliseconds;

constexpr int64_t last_step = 2500;  // each takes a millisecond at least
constexpr int kills = 20;
const char* const child_name = "a run in a process of its own";

bool exists(const std::string& path) { return std::filesystem::exists(path); }

void kill(Child child) {
  ::kill(child.process, SIGKILL);
  CHECK(child.finish().status == -SIGKILL);
}

TensorMap final_weights(const TemporaryFolder& folder) {
  return load_safetensors(folder.file("final")).tensors;
}

// Saves until one fails; holds that the last good state is whole, and that nothing of the failed one is
// there.
void check_full_disk(const TemporaryFolder& folder, SmallRun& run, const std::string& reason,
                     const std::function<void(int64_t)>& save) {
  const std::string path = folder.file("run");
  TensorMap saved;
  int64_t step = 0;
  std::string error;
  for (; error.empty() && step < 100; ++step) {
    const TensorMap before = copied(run.all());
    try {
      save(step);
      saved = before;
    } catch (const IoError& failure) {
      error = failure.what();
    }
    run.run_to(run.step + 1);
  }
  CAPTURE(error);
  CHECK(error.find("cannot write \"" + path) != std::string::npos);
  CHECK(error.find(reason) != std::string::npos);
  REQUIRE(step >= 2);
  CHECK(train::latest_state(path) == step - 2);
  CHECK_FALSE(exists(path + "/step-0000000" + std::to_string(step - 1)));
  SmallRun other(400);
  train::load_state(path, other.parts());
  CHECK(same_bits(other.all(), saved));
}

}  // namespace

TEST_CASE("a run in a process of its own" * doctest::skip()) {
  const std::string folder = std::getenv("TERN_TEST_FOLDER"), path = folder + "/run";
  const bool async = std::getenv("TERN_TEST_ASYNC") != nullptr;
  manual_seed(1);
  SmallRun run;
  if (train::latest_state(path)) run.step = train::load_state(path, run.parts()).step;
  train::PendingSave saving;
  run.run_to(last_step, [&] {
    std::this_thread::sleep_for(milliseconds(1));
    if (!exists(folder + "/started")) write_text(folder + "/started", "");
    if (run.step % 5 != 0) return;
    saving.wait();
    if (async)
      saving = train::save_state_async(path, run.step, run.parts(), {.keep_last = 2});
    else
      train::save_state(path, run.step, run.parts(), {.keep_last = 2});
  });
  saving.wait();
  save_safetensors(folder + "/final", run.all());
}

TEST_CASE("a run that is killed at 20 random moments and resumed ends with the same bits") {
  const TemporaryFolder whole, killed;
  // At the same time, to save time.
  Child uninterrupted = start_child(child_name, {"TERN_TEST_FOLDER=" + whole.path().string()});
  std::mt19937 random(7);
  for (int i = 0; i < kills; ++i) {
    std::filesystem::remove(killed.file("started"));
    std::vector<std::string> settings{"TERN_TEST_FOLDER=" + killed.path().string()};
    if (i % 2) settings.emplace_back("TERN_TEST_ASYNC=1");
    const Child child = start_child(child_name, settings);
    // One in four is killed early: starting, loading. The others take some steps.
    while (i % 4 != 3 && !exists(killed.file("started"))) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(random() % 80));
    kill(child);
    REQUIRE_FALSE(exists(killed.file("final")));
  }
  CHECK(train::latest_state(killed.file("run")).has_value());
  check_in_child(child_name, {"TERN_TEST_FOLDER=" + killed.path().string()});
  const ChildResult result = uninterrupted.finish();
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(same_bits(final_weights(killed), final_weights(whole)));
}

TEST_CASE("a disk that fills up during a save leaves the last good state and says what happened") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder);
  if (!disk.mounted()) {
    MESSAGE("skipped: mounting a small file system is not permitted here");
    return;
  }
  SmallRun run(400);  // a state of about 50 kB
  check_full_disk(folder, run, "No space left on device",
                  [&](int64_t step) { train::save_state(folder.file("run"), step, run.parts()); });
}

TEST_CASE("a disk that takes only a part of a save leaves the last good state and says what happened") {
  for (const bool async : {false, true}) {
    const TemporaryFolder folder;
    SmallRun run(400);
    check_full_disk(folder, run, "File too large", [&](int64_t step) {
      const FileSizeLimit limit(step < 3 ? 1000000 : 20000);
      if (async)
        train::save_state_async(folder.file("run"), step, run.parts()).wait();
      else
        train::save_state(folder.file("run"), step, run.parts());
    });
  }
}
