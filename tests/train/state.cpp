// Whole runs in folders: what comes back, what is kept, and what a damaged or unfitting state leaves alone.
#include <tern/core/error.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/train/small_run.h>

#include <doctest/doctest.h>

#include <filesystem>

using namespace tern;
using namespace tern::tests;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a run that is loaded within an epoch goes on bit for bit, and equal runs give equal bytes") {
  const TemporaryFolder folder;
  const std::string a = folder.file("a"), b = folder.file("b");
  manual_seed(1);
  SmallRun run;
  CHECK_FALSE(train::latest_state(a).has_value());
  run.run_to(30, [&] {
    if (run.step == 11) train::save_state(a, run.step, run.parts(), {.notes = {{"lr", "0.05"}}});
  });
  CHECK(train::latest_state(a) == 11);
  train::save_state(a, run.step, run.parts());

  manual_seed(2);
  SmallRun other;
  other.run_to(3);
  const train::LoadedState loaded = train::load_state(a, other.parts(), {.step = 11});
  CHECK(loaded.step == 11);
  CHECK(loaded.notes == train::Notes{{"lr", "0.05"}});
  CHECK(other.decay.steps() == 11);
  other.step = loaded.step;
  other.run_to(30);
  CHECK(same_bits(other.all(), run.all()));
  train::save_state(b, other.step, other.parts());
  for (const char* const name : {"rank-0.safetensors", "manifest.json"})
    CHECK(read_text(a + "/step-00000030/" + name) == read_text(b + "/step-00000030/" + name));
}

TEST_CASE("generators of a program's own are parts too") {
  const TemporaryFolder folder;
  Generator generator, other;
  generator.manual_seed(5);
  generator.reserve(100);
  train::save_state(folder.file("a"), 0, {{"noise", generator}});
  train::load_state(folder.file("a"), {{"noise", other}});
  CHECK(other.state() == generator.state());
}

TEST_CASE("old states go, the newest stay; a step that is saved again replaces the first") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SmallRun run;
  for (const int64_t step : {1, 2, 3, 4}) train::save_state(path, step, run.parts(), {.keep_last = 2});
  CHECK(names_in(path) == Names{"step-00000003", "step-00000004"});
  run.run_to(2);
  train::save_state(path, 4, run.parts(), {.keep_last = 2});
  CHECK(names_in(path + "/step-00000004") == Names{"manifest.json", "rank-0.2.safetensors"});
  SmallRun other;
  train::load_state(path, other.parts());
  CHECK(same_bits(other.all(), run.all()));
  train::save_state(path, 1, run.parts(), {.keep_last = 1});  // a run that went back to an earlier state
  CHECK(names_in(path) == Names{"step-00000001"});
  train::save_state(path, 123456789012, run.parts());
  CHECK(train::latest_state(path) == 123456789012);
}

TEST_CASE("what an interrupted save left is no state, and goes with the next one") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SmallRun run;
  train::save_state(path, 1, run.parts());
  fs::create_directory(path + "/step-00000002");
  write_text(path + "/step-00000002/rank-0.safetensors", "half");
  write_text(path + "/step-00000001/.tern-1-1.tmp", "half");
  write_text(path + "/notes.txt", "not ours");
  CHECK(train::latest_state(path) == 1);
  train::save_state(path, 3, run.parts());
  CHECK(names_in(path) == Names{"notes.txt", "step-00000001", "step-00000003"});
  train::save_state(path, 1, run.parts());
  CHECK(names_in(path + "/step-00000001") == Names{"manifest.json", "rank-0.2.safetensors"});
}

TEST_CASE("a damaged state is refused, whatever byte is damaged, and changes nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run"), file = path + "/step-00000001/rank-0.safetensors",
                    manifest = path + "/step-00000001/manifest.json";
  SmallRun run, other;
  run.run_to(2);
  train::save_state(path, 1, run.parts());
  const TensorMap before = copied(other.all());
  const auto load = [&] { train::load_state(path, other.parts()); };
  const std::string good = read_text(file), list = read_text(manifest);
  for (const size_t at : {size_t{0}, size_t{9}, size_t{200}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] ^= 4;
    write_text(file, bad);
    CHECK(fails_with("rank-0.safetensors\" is damaged: its checksum is", load));
  }
  write_text(file, good.substr(0, good.size() - 1));
  CHECK(fails_with("is damaged: it has " + std::to_string(good.size() - 1) + " bytes", load));
  fs::remove(file);
  CHECK(fails_with("No such file", load));
  write_text(file, good);
  for (const std::string& bad : {std::string("{"), list.substr(0, list.size() / 2), std::string("{}"),
                                 std::string(R"({"format":"tern state 2"})"), std::string()}) {
    write_text(manifest, bad);
    CHECK_THROWS_AS(load(), IoError);
  }
  for (size_t at = 0; at < list.size(); ++at) {
    std::string bad = list;
    bad[at] ^= 1;
    write_text(manifest, bad);
    CAPTURE(bad);
    CHECK_THROWS_AS(load(), IoError);
  }
  CHECK(same_bits(other.all(), before));
  write_text(manifest, list);
  CHECK_NOTHROW(load());
  CHECK(
      fails_with("holds no complete state", [&] { train::load_state(folder.file("none"), other.parts()); }));
  CHECK_THROWS_AS(train::load_state(path, other.parts(), {.step = 7}), IoError);
}

TEST_CASE("a state that does not fit its parts is refused, naming them, and changes nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SmallRun run, wider(20), other;
  run.run_to(3);
  train::save_state(path, 3, run.parts());
  const TensorMap before = copied(wider.all()), others = copied(other.all());
  const RandomState random = default_generator().state();
  CHECK(fails_with("load_state: \"model\": ", [&] { train::load_state(path, wider.parts()); }));
  CHECK(same_bits(wider.all(), before));
  auto parts = other.parts();
  parts.pop_back();
  CHECK(fails_with("load_state: the state has a part \"loader\" that is not loaded;",
                   [&] { train::load_state(path, parts); }));
  Decay second(other.optimizer);
  parts = other.parts();
  parts.emplace_back("second", second);
  CHECK(fails_with("the state has nothing of the part \"second\";", [&] { train::load_state(path, parts); }));
  CHECK(same_bits(other.all(), others));
  CHECK(default_generator().state() == random);
}

TEST_CASE("parts that fit go back when a later one does not") {
  struct Picky {
    TensorMap state_dict() const { return {{"x", zeros({1})}}; }
    void load_state_dict(const TensorMap&) { throw Error("Picky: never"); }
  } picky;
  const TemporaryFolder folder;
  SmallRun run, other;
  run.run_to(3);
  auto parts = run.parts();
  parts.emplace_back("picky", picky);
  train::save_state(folder.file("run"), 3, parts);
  const TensorMap before = copied(other.all());
  parts = other.parts();
  parts.emplace_back("picky", picky);
  CHECK(fails_with("Picky: never", [&] { train::load_state(folder.file("run"), parts); }));
  CHECK(same_bits(other.all(), before));
}

TEST_CASE("a state that is saved asynchronously is that of the call, whatever training does meanwhile") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  manual_seed(3);
  SmallRun run;
  train::PendingSave saving;
  CHECK_NOTHROW(saving.wait());
  run.run_to(9, [&] {
    if (run.step == 4) saving = train::save_state_async(path, 4, run.parts(), {.keep_last = 1});
  });
  saving.wait();
  CHECK_NOTHROW(saving.wait());
  CHECK(train::latest_state(path) == 4);
  SmallRun other;
  other.step = train::load_state(path, other.parts()).step;
  other.run_to(9);
  CHECK(same_bits(other.all(), run.all()));
  saving = train::save_state_async(path, 9, run.parts(), {.keep_last = 1});
  CHECK(fails_with("another save into", [&] { train::save_state(path + "/../run", 10, run.parts()); }));
  saving.wait();
  CHECK(names_in(path) == Names{"step-00000009"});
  write_text(folder.file("file"), "in the way");
  CHECK(fails_with("Not a directory",
                   [&] { saving = train::save_state_async(folder.file("file") + "/run", 9, run.parts()); }));
}

TEST_CASE("wrong arguments are refused by name") {
  const TemporaryFolder folder;
  SmallRun run;
  const auto save = [&](int64_t step, const std::vector<train::StatePart>& parts,
                        const train::SaveStateOptions& options = {}) {
    train::save_state(folder.file("run"), step, parts, options);
  };
  CHECK(fails_with("step must not be negative, got -1", [&] { save(-1, run.parts()); }));
  CHECK(fails_with("keep_last must not be negative", [&] { save(1, run.parts(), {.keep_last = -1}); }));
  CHECK(fails_with("two parts are named \"a\"", [&] { save(1, {{"a", run.net}, {"a", run.decay}}); }));
  for (const char* const name : {"", "a.b", "a b", "\xc3\xa9"})
    CHECK(fails_with("must consist of letters", [&] { save(1, {{name, run.net}}); }));
  CHECK(fails_with("\"rank\" is the name of", [&] { save(1, {{"rank", run.net}}); }));
  CHECK(folder.count() == 0);
}
