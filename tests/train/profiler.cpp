#include <tern/tern.h>
#include <tern/tests/core/temporary_folder.h>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include <unistd.h>

using namespace tern;
using namespace tern::tests;
using tern::train::ProfileEntry;
using tern::train::Profiler;

namespace {

class Net : public nn::Layer<Net> {
 public:
  Tensor forward(const Tensor& x) { return head(flatten(features(x), 1)); }
  void members(nn::Visitor& visitor) override {
    visitor.module("features", features);
    visitor.module("head", head);
  }
  nn::Sequential features{nn::Conv2d(1, 2, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                          nn::Conv2d(2, 2, 3, {.padding = 1})};
  nn::Linear head{2 * 4 * 4, 3};
};

struct Images {
  int64_t size() const { return 8; }
  data::Example get(int64_t i) const {
    return {full({1, 8, 8}, static_cast<double>(i), float32), data::scalar(i % 3)};
  }
};

void train_an_epoch(Net& net, int workers) {
  optim::AdamW optimizer(net.parameters());
  nn::CrossEntropyLoss loss_function;
  data::DataLoader loader(Images(), {.batch_size = 4, .num_workers = workers});
  for (auto& [images, labels] : loader) {
    optimizer.zero_grad();
    backward(loss_function(net(images), labels));
    optim::clip_grad_norm_(net.parameters(), 1);
    optimizer.step();
  }
}

const ProfileEntry& entry_of(const std::vector<ProfileEntry>& entries, const std::string& name) {
  for (const ProfileEntry& entry : entries) {
    if (entry.name == name) return entry;
  }
  FAIL("there is no " << name);
  return entries[0];
}

void nested(int levels) {
  const ProfileScope scope("nested");
  if (levels > 1) nested(levels - 1);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a step shows its operations, gradients, layers, optimizer and loader, each as often as it ran") {
  Net net;
  Profiler profiler({.model = &net});
  train_an_epoch(net, 0);
  profiler.stop();
  train_an_epoch(net, 0);  // not recorded
  const auto entries = profiler.key_averages();
  const std::map<std::string, int64_t> calls{{"conv2d_relu_max_pool2d", 2},
                                             {"conv2d_relu_max_pool2d backward", 2},
                                             {"conv2d", 2},
                                             {"conv2d backward", 2},
                                             {"linear", 2},
                                             {"linear backward", 2},
                                             {"cross_entropy", 2},
                                             {"cross_entropy backward", 2},
                                             {"backward", 2},
                                             {"Net", 2},
                                             {"features (Sequential)", 2},
                                             {"features.0 (Conv2d)", 2},
                                             {"features.3 (Conv2d)", 2},
                                             {"head (Linear)", 2},
                                             {"CrossEntropyLoss", 2},
                                             {"AdamW.step", 2},
                                             {"zero_grad", 2},
                                             {"clip_grad_norm_", 2},
                                             {"DataLoader next", 3},
                                             {"DataLoader load", 2}};
  for (const auto& expected : calls) {
    CAPTURE(expected.first);
    const ProfileEntry& entry = entry_of(entries, expected.first);
    CHECK(entry.calls == expected.second);
    CHECK(entry.threads == std::vector<std::string>{"main"});
    CHECK(entry.self >= 0);
    CHECK(entry.total >= entry.self);
  }
  CHECK(entry_of(entries, "Net").kind == ProfileKind::module);
  CHECK(entry_of(entries, "features (Sequential)").total >= entry_of(entries, "features.0 (Conv2d)").total);
  CHECK(entry_of(entries, "features.3 (Conv2d)").total >= entry_of(entries, "conv2d").total);
  double on_main = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].threads[0] == "main") on_main += entries[i].self;
    if (i > 0) CHECK(entries[i].self <= entries[i - 1].self);
  }
  CHECK(on_main <= profiler.seconds());
  CHECK(profiler.dropped() == 0);
}

TEST_CASE("without a model, layers show by their types, those of the same type together") {
  Net net;
  const Profiler profiler;
  net(ones({1, 1, 8, 8}));
  const auto entries = profiler.key_averages();
  CHECK(entry_of(entries, "Conv2d").calls == 2);
  CHECK(entry_of(entries, "Linear").calls == 1);
  CHECK(entry_of(entries, "Net").calls == 1);
}

TEST_CASE("layers with a call of their own, for options in braces, show like all others") {
  nn::TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 16, .dropout = 0});
  nn::Sequential model(layer);
  const Profiler profiler;
  layer(ones({3, 1, 8}), {.is_causal = true});
  model(ones({3, 1, 8}));
  const auto entries = profiler.key_averages();
  CHECK(entry_of(entries, "TransformerEncoderLayer").calls == 2);
  CHECK(entry_of(entries, "MultiheadAttention").calls == 2);
  CHECK(entry_of(entries, "Linear").calls == 6);
}

TEST_CASE("loading shows on the threads of the workers, waiting on the one of the loop") {
  Net net;
  const Profiler profiler;
  train_an_epoch(net, 2);
  const auto entries = profiler.key_averages();
  const ProfileEntry& load = entry_of(entries, "DataLoader load");
  CHECK(load.calls == 2);
  for (const std::string& thread : load.threads) CHECK(thread.starts_with("loader worker "));
  CHECK(entry_of(entries, "DataLoader next").threads == std::vector<std::string>{"main"});
}

TEST_CASE("kernel threads show while they work for others") {
  set_num_threads(2);
  const Tensor x = ones({1 << 20});
  Profiler profiler;
  for (int i = 0; i < 20; ++i) exp(x);
  set_num_threads(1);  // ends the threads
  profiler.stop();
  CHECK(profiler.table().find("parallel_for") == std::string::npos);
  CHECK(profiler.table().find("; kernel threads helped for ") != std::string::npos);
  const auto entries = profiler.key_averages();
  CHECK(entry_of(entries, "parallel_for").threads == std::vector<std::string>{"kernel thread 1"});
  CHECK(entry_of(entries, "exp").calls == 20);
}

TEST_CASE("scopes inside one of the same name count once in the total time") {
  Profiler profiler;
  for (int i = 0; i < 100; ++i) nested(5);
  profiler.stop();
  const auto entries = profiler.key_averages();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].calls == 500);
  CHECK(entries[0].total == doctest::Approx(entries[0].self));
  CHECK(entries[0].total <= profiler.seconds());
}

TEST_CASE("the table is sorted, limited and cut as asked, and says what is missing") {
  Profiler profiler({.max_events = 7});
  for (int i = 0; i < 3; ++i) const ProfileScope scope("often");
  {
    const ProfileScope outer("a name that is rather long");
    const ProfileScope inner("inner");
    nested(2);
  }
  for (int i = 0; i < 5; ++i) const ProfileScope scope("too many");
  profiler.stop();
  CHECK(profiler.dropped() == 5);
  const auto by_calls = lines_of(profiler.table({.sort_by = train::ProfileOrder::calls}));
  REQUIRE(by_calls.size() == 7);
  CHECK(by_calls[0].starts_with("Name"));
  CHECK(by_calls[2].starts_with("often "));
  CHECK(by_calls[2].ends_with("main"));
  CHECK(by_calls[3].starts_with("nested "));
  CHECK(by_calls[6].find("5 calls beyond max_events") != std::string::npos);
  const auto by_total =
      lines_of(profiler.table({.sort_by = train::ProfileOrder::total, .row_limit = 1, .max_name_width = 10}));
  REQUIRE(by_total.size() == 4);
  CHECK(by_total[2].starts_with("a name ...  "));
  CHECK(by_total[3].find("3 more names") != std::string::npos);
  CHECK(lines_of(profiler.table({.row_limit = 0, .max_name_width = 0})).size() == 3);
  CHECK_THROWS_AS(profiler.table({.row_limit = -1}), Error);
  CHECK_THROWS_AS(profiler.table({.max_name_width = -1}), Error);
}

TEST_CASE("a trace is valid JSON whose events have all fields and lie as they were nested") {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.json");
  Net net;
  Profiler profiler({.model = &net});
  train_an_epoch(net, 1);
  { const ProfileScope scope("quotes \" and \\ and \x80"); }
  profiler.stop();
  profiler.export_chrome_trace(path);
  const auto trace = nlohmann::json::parse(read_text(path));
  int64_t complete = 0, calls = 0;
  std::set<int64_t> threads, named;
  std::map<std::string, nlohmann::json> found;
  for (const auto& event : trace.at("traceEvents")) {
    CHECK(event.at("pid") == ::getpid());
    if (event.at("ph") == "M") {
      if (event.at("name") == "thread_name") named.insert(event.at("tid").get<int64_t>());
      continue;
    }
    REQUIRE(event.at("ph") == "X");
    ++complete;
    CHECK(event.at("ts").get<double>() >= 0);
    CHECK(event.at("dur").get<double>() >= 0);
    CHECK(event.at("ts").get<double>() + event.at("dur").get<double>() <= profiler.seconds() * 1e6 + 0.01);
    CHECK_FALSE(event.at("cat").get<std::string>().empty());
    threads.insert(event.at("tid").get<int64_t>());
    found[event.at("name").get<std::string>()] = event;
  }
  for (const ProfileEntry& entry : profiler.key_averages()) calls += entry.calls;
  CHECK(complete == calls);
  CHECK(threads == named);
  CHECK(threads.size() >= 2);
  CHECK(found.contains("quotes \" and \\ and \xEF\xBF\xBD"));
  const auto &outer = found.at("features.3 (Conv2d)"), &inner = found.at("conv2d");
  CHECK(inner.at("cat") == "operation");
  CHECK(inner.at("tid") == outer.at("tid"));
  CHECK(inner.at("ts").get<double>() >= outer.at("ts").get<double>());
  CHECK(inner.at("ts").get<double>() + inner.at("dur").get<double>() <=
        outer.at("ts").get<double>() + outer.at("dur").get<double>() + 0.002);
  CHECK(found.at("conv2d backward").at("cat") == "backward");
  CHECK(found.at("AdamW.step").at("cat") == "optimizer");
}

TEST_CASE("a trace without a scope is valid, and one that cannot be written an IoError naming the file") {
  const TemporaryFolder folder;
  const Profiler profiler;
  profiler.export_chrome_trace(folder.file("empty.json"));
  CHECK(nlohmann::json::parse(read_text(folder.file("empty.json"))).at("traceEvents").size() == 1);
  CHECK(lines_of(profiler.table()).size() == 3);
  CHECK_THROWS_WITH_AS(profiler.export_chrome_trace("/nowhere/at/all.json"),
                       doctest::Contains("/nowhere/at/all.json"), IoError);
}

TEST_CASE("a profiler beside another one is an Error; after it, fine") {
  {
    const Profiler first;
    CHECK_THROWS_AS(Profiler(), Error);
  }
  const Profiler second;
  nested(1);
  CHECK(second.key_averages().size() == 1);
}

TEST_CASE("profilers start and stop while another thread trains") {
  std::atomic<bool> done = false;
  std::thread trainer([&] {
    Net net;
    while (!done) train_an_epoch(net, 1);
  });
  int64_t calls = 0;
  for (int i = 0; i < 20 || calls == 0; ++i) {
    Profiler profiler;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (i % 2) profiler.stop();
    for (const ProfileEntry& entry : profiler.key_averages()) calls += entry.calls;
  }
  done = true;
  trainer.join();
  CHECK(calls > 0);
}
