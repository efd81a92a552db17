// A run's file: what comes back, and what a file that does not fit leaves alone.
#include <tern/core/random.h>
#include <tern/core/safetensors.h>
#include <tern/kernels/creation.h>
#include <tern/nn/linear.h>
#include <tern/optim/sgd.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/support/layouts.h>
#include <tern/train/checkpoint.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

struct Run {
  nn::Linear model;
  optim::SGD optimizer;

  explicit Run(int64_t features)
      : model(3, features), optimizer(model.parameters(), {.lr = 0.1, .momentum = 0.9}) {}
  void step() {
    for (const Tensor& p : model.parameters()) p.set_grad(scattered(p.shape(), -1, 2, p.dtype()));
    optimizer.step();
  }
  TensorMap all() const {
    TensorMap all = model.state_dict();
    for (const auto& [name, tensor] : optimizer.state_dict()) all["optimizer." + name] = tensor;
    return all;
  }
};

bool same(const TensorMap& a, const TensorMap& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !bits_equal(tensor, b.at(name))) return false;
  }
  return true;
}

TensorMap copy_of(const TensorMap& all) {
  TensorMap copy;
  for (const auto& [name, tensor] : all) copy[name] = laid_out(tensor, Lay::contiguous);
  return copy;
}

}  // namespace

TEST_CASE("a checkpoint puts module, optimizer, generator and notes back; equal runs give equal bytes") {
  const TemporaryFolder folder;
  Run run(4), other(4);
  run.step();
  manual_seed(7);
  rand({5});
  train::save_checkpoint(folder.file("a"), run.model, run.optimizer, {{"epoch", "3"}});
  const Tensor next = rand({5});
  const train::Notes notes = train::load_checkpoint(folder.file("a"), other.model, other.optimizer);
  CHECK(notes == train::Notes{{"epoch", "3"}});
  CHECK(bits_equal(rand({5}), next));
  CHECK(same(other.all(), run.all()));
  run.step();
  other.step();
  CHECK(same(other.all(), run.all()));
  train::save_checkpoint(folder.file("b"), run.model, run.optimizer, notes);
  train::save_checkpoint(folder.file("c"), other.model, other.optimizer, notes);
  CHECK(read_text(folder.file("b")) == read_text(folder.file("c")));
}

TEST_CASE("a checkpoint that does not fit or is damaged changes nothing") {
  const TemporaryFolder folder;
  Run run(4), larger(5);
  run.step();
  larger.step();
  train::save_checkpoint(folder.file("good"), run.model, run.optimizer, {});
  save_safetensors(folder.file("weights"), run.model.state_dict());
  const std::string bytes = read_text(folder.file("good"));
  write_text(folder.file("short"), bytes.substr(0, bytes.size() - 1));
  const TensorMap before = copy_of(larger.all());
  const RandomState random = default_generator().state();
  auto load = [&](const std::string& name) {
    train::load_checkpoint(folder.file(name), larger.model, larger.optimizer);
  };
  CHECK_THROWS_AS(load("good"), Error);
  CHECK_THROWS_AS(load("weights"), IoError);
  CHECK_THROWS_AS(load("short"), IoError);
  CHECK_THROWS_AS(load("absent"), IoError);
  CHECK(same(larger.all(), before));
  CHECK(default_generator().state().offset == random.offset);
  CHECK_THROWS_AS(train::save_checkpoint(folder.file("no/folder"), run.model, run.optimizer, {}), IoError);
}

TEST_CASE("a checkpoint with tensors that belong to nothing is refused, naming them") {
  const TemporaryFolder folder;
  Run run(4);
  run.step();
  train::save_checkpoint(folder.file("good"), run.model, run.optimizer, {});
  Safetensors file = load_safetensors(folder.file("good"));
  for (const char* const name : {"ema.weight", "generator2", "model", "weight"})
    file.tensors[name] = zeros({1});
  save_safetensors(folder.file("more"), file.tensors);
  run.step();
  const TensorMap before = copy_of(run.all());
  CHECK(fails_with("holds tensors that belong to no part of a run: ema.weight generator2 model weight",
                   [&] { train::load_checkpoint(folder.file("more"), run.model, run.optimizer); }));
  CHECK(same(run.all(), before));
}

TEST_CASE("a checkpoint whose optimizer makes no sense changes nothing") {
  const TemporaryFolder folder;
  Run run(4);
  run.step();
  train::save_checkpoint(folder.file("good"), run.model, run.optimizer, {});
  Safetensors file = load_safetensors(folder.file("good"));
  file.tensors["optimizer.group.0.lr"] = full({}, -5, float64);
  save_safetensors(folder.file("bad"), file.tensors);
  run.step();
  const TensorMap before = copy_of(run.all());
  CHECK(fails_with("SGD: lr must not be negative, got -5",
                   [&] { train::load_checkpoint(folder.file("bad"), run.model, run.optimizer); }));
  CHECK(same(run.all(), before));
}

TEST_CASE("notes: other settings and what is no count are named") {
  const train::Notes notes{{"lr", "0.1"}, {"epoch", "12"}, {"bad", "3x"}, {"minus", "-1"}};
  CHECK_NOTHROW(train::check_settings("f", notes, {{"lr", "0.1"}}));
  CHECK(
      fails_with("f: the run was started with other settings; lr was 0.1, is now 0.2; seed was absent", [&] {
        train::check_settings("f", notes, {{"lr", "0.2"}, {"seed", "1"}});
      }));
  CHECK(train::noted_count("f", notes, "epoch") == 12);
  for (const char* const name : {"absent", "bad", "minus"}) {
    CHECK(fails_with("whole number", [&] { train::noted_count("f", notes, name); }));
  }
}
