// Saving and loading what an optimizer knows.
#include <tern/autograd/operators.h>
#include <tern/core/safetensors.h>
#include <tern/kernels/creation.h>
#include <tern/optim/adagrad.h>
#include <tern/optim/adam.h>
#include <tern/optim/adamw.h>
#include <tern/optim/lion.h>
#include <tern/optim/rmsprop.h>
#include <tern/optim/sgd.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

using namespace tern;
using namespace tern::tests;

namespace {

using SgdGroups = std::vector<optim::ParamGroup<optim::SGDOptions>>;
using AdamwGroups = std::vector<optim::ParamGroup<optim::AdamWOptions>>;
using AdamGroups = std::vector<optim::ParamGroup<optim::AdamOptions>>;
using RmspropGroups = std::vector<optim::ParamGroup<optim::RMSpropOptions>>;
using AdagradGroups = std::vector<optim::ParamGroup<optim::AdagradOptions>>;
using LionGroups = std::vector<optim::ParamGroup<optim::LionOptions>>;

Tensor leaf(const Shape& shape, DType dtype = float32) {
  return scattered(shape, -2, 2, dtype).requires_grad_();
}

std::vector<std::string> names_of(const TensorMap& state) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  return names;
}

// Parameters of two groups with an optimizer; gradients depend on the step alone.
struct Run {
  std::vector<Tensor> parameters{leaf({4, 5}), leaf({7}, float64), leaf({2, 3}, bfloat16)};
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit Run(const SgdGroups& options) { make<optim::SGD>(options); }
  explicit Run(const AdamwGroups& options) { make<optim::AdamW>(options); }
  explicit Run(const AdamGroups& options) { make<optim::Adam>(options); }
  explicit Run(const RmspropGroups& options) { make<optim::RMSprop>(options); }
  explicit Run(const AdagradGroups& options) { make<optim::Adagrad>(options); }
  explicit Run(const LionGroups& options) { make<optim::Lion>(options); }
  template <class Optimizer, class Groups>
  void make(Groups groups) {
    groups[0].params = {parameters[0], parameters[1]};
    groups[1].params = {parameters[2]};
    optimizer = std::make_unique<Optimizer>(groups);
  }
  void steps(int from, int to) const {
    for (int step = from; step < to; ++step) {
      for (const Tensor& p : parameters) p.set_grad(scattered(p.shape(), -1 - step, 2 + step, p.dtype()));
      optimizer->step();
    }
  }
};

// `fresh` has other options and no state; loaded, it goes on as `run` does, bit for bit.
void check_resume(const Run& run, const Run& fresh) {
  const TemporaryFolder folder;
  run.steps(0, 3);
  save_safetensors(folder.file("state"), run.optimizer->state_dict());
  for (size_t i = 0; i < 3; ++i) fresh.parameters[i].set_data(laid_out(run.parameters[i], Lay::contiguous));
  fresh.optimizer->load_state_dict(load_safetensors(folder.file("state")).tensors);
  run.steps(3, 6);
  fresh.steps(3, 6);
  const TensorMap expected = run.optimizer->state_dict(), state = fresh.optimizer->state_dict();
  REQUIRE(names_of(state) == names_of(expected));
  for (const auto& [key, tensor] : expected) {
    const std::string& name = key;
    INFO(name);
    CHECK(bits_equal(state.at(name), tensor));
  }
  for (size_t i = 0; i < 3; ++i) CHECK(bits_equal(fresh.parameters[i], run.parameters[i]));
}

}  // namespace

TEST_CASE("saved to a file and loaded, SGD goes on with the same bits") {
  check_resume(Run(SgdGroups{{{}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}},
                             {{}, {.lr = 1.0 / 3, .momentum = 0.5, .dampening = 0.1, .maximize = true}}}),
               Run(SgdGroups(2)));
}

TEST_CASE("saved to a file and loaded, AdamW goes on with the same bits") {
  check_resume(
      Run(AdamwGroups{{{}, {.lr = 0.1, .amsgrad = true}},
                      {{}, {.lr = 1.0 / 3, .beta1 = 0.5, .beta2 = 0.75, .eps = 1e-3, .maximize = true}}}),
      Run(AdamwGroups(2)));
}

TEST_CASE("saved to a file and loaded, Adam, RMSprop, Adagrad and Lion go on with the same bits") {
  check_resume(Run(AdamGroups{{{}, {.lr = 0.1, .weight_decay = 0.1, .amsgrad = true}},
                              {{}, {.lr = 1.0 / 3, .beta1 = 0.5, .eps = 1e-3, .maximize = true}}}),
               Run(AdamGroups(2)));
  check_resume(Run(RmspropGroups{{{}, {.lr = 0.1, .alpha = 0.7, .eps = 1e-3, .momentum = 0.9}},
                                 {{}, {.weight_decay = 0.1, .centered = true, .maximize = true}}}),
               Run(RmspropGroups(2)));
  check_resume(Run(AdagradGroups{{{}, {.lr = 0.1, .lr_decay = 0.3, .initial_accumulator_value = 0.5}},
                                 {{}, {.weight_decay = 0.1, .eps = 1e-3, .maximize = true}}}),
               Run(AdagradGroups(2)));
  check_resume(Run(LionGroups{{{}, {.lr = 0.1, .weight_decay = 0.1}},
                              {{}, {.beta1 = 0.5, .beta2 = 0.6, .maximize = true}}}),
               Run(LionGroups(2)));
}

TEST_CASE("loading replaces a state that is there already, and takes what is absent away") {
  const Run run(SgdGroups{{{}, {.momentum = 0.9}}, {{}, {.momentum = 0.9}}});
  const TensorMap before = run.optimizer->state_dict();
  run.steps(0, 2);
  CHECK(run.optimizer->state_dict().contains("state.2.momentum_buffer"));
  run.optimizer->load_state_dict(before);
  CHECK(names_of(run.optimizer->state_dict()) == names_of(before));
}

TEST_CASE("a loaded state is a copy") {
  const Run run(AdamwGroups(2)), other(AdamwGroups(2));
  run.steps(0, 1);
  const TensorMap state = run.optimizer->state_dict();
  other.optimizer->load_state_dict(state);
  const Tensor mean = laid_out(state.at("state.0.exp_avg"), Lay::contiguous);
  other.steps(1, 2);
  CHECK(bits_equal(state.at("state.0.exp_avg"), mean));
}

TEST_CASE("a state of another dtype is converted, except for the float32 state of a half-typed parameter") {
  const auto loaded = [](DType parameter, DType state) {
    const Tensor a = leaf({2}, parameter);
    optim::SGD optimizer({a}, {.lr = 0.5, .momentum = 0.9});
    TensorMap entries = optimizer.state_dict();
    entries["state.0.momentum_buffer"] = ones({2}, state);
    optimizer.load_state_dict(entries);
    a.set_grad(ones({2}, parameter));
    optimizer.step();
    const Tensor momentum = optimizer.state_dict().at("state.0.momentum_buffer");
    CHECK(distance(momentum, full({2}, 1.9, float64)) < 1e-2);
    return momentum.dtype();
  };
  CHECK(loaded(float64, float32) == float64);
  CHECK(loaded(float32, float64) == float32);
  CHECK(loaded(bfloat16, float32) == float32);
  CHECK(loaded(bfloat16, float64) == bfloat16);
}

TEST_CASE("entries are named by group and parameter") {
  const Tensor a = leaf({2}), b = leaf({3});
  optim::SGD sgd(SgdGroups{{{a}, {.lr = 0.5}}, {{b}, {.lr = 0.25, .momentum = 0.9}}});
  a.set_grad(ones({2})), b.set_grad(ones({3}));
  sgd.step();
  const std::vector<std::string> expected{
      "group.0.dampening",      "group.0.lr",           "group.0.maximize",  "group.0.momentum",
      "group.0.nesterov",       "group.0.weight_decay", "group.1.dampening", "group.1.lr",
      "group.1.maximize",       "group.1.momentum",     "group.1.nesterov",  "group.1.weight_decay",
      "state.1.momentum_buffer"};
  CHECK(names_of(sgd.state_dict()) == expected);
  CHECK(sgd.state_dict().at("group.1.lr").item<double>() == 0.25);
  optim::AdamW adamw({a}, {.amsgrad = true});
  adamw.step();
  adamw.step();
  const TensorMap state = adamw.state_dict();
  CHECK(state.at("state.0.step").item<int64_t>() == 2);
  for (const char* name : {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})
    CHECK(state.at(std::string("state.0.") + name).shape() == Shape{2});
}

TEST_CASE("a state that does not fit is refused, naming the entries, and changes nothing") {
  const Tensor a = leaf({2}), b = leaf({3});
  optim::SGD one({a}, {.lr = 0.5, .momentum = 0.9}), two(SgdGroups{{{a}, {}}, {{b}, {}}});
  optim::AdamW adamw({a});
  CHECK(fails_with("unexpected: group.1.lr", [&] { one.load_state_dict(two.state_dict()); }));
  CHECK(fails_with("missing: group.1.lr", [&] { two.load_state_dict(one.state_dict()); }));
  CHECK(fails_with("missing: group.0.beta1", [&] { adamw.load_state_dict(one.state_dict()); }));
  CHECK(fails_with("unexpected: group.0.momentum", [&] { adamw.load_state_dict(one.state_dict()); }));
  const auto refuses = [&](const std::string& part, const std::string& name, const Tensor& value) {
    TensorMap state = one.state_dict();
    state["group.0.lr"] = full({}, 7, float64);
    state[name] = value;
    return fails_with(part, [&] { one.load_state_dict(state); }) && one.lr() == 0.5;
  };
  CHECK(refuses("unexpected: state.1.momentum_buffer", "state.1.momentum_buffer", zeros({2})));
  CHECK(refuses("of another shape: state.0.momentum_buffer", "state.0.momentum_buffer", zeros({3})));
  CHECK(refuses("of another shape: group.0.momentum", "group.0.momentum", zeros({2}, float64)));
  CHECK(refuses("of another shape: group.0.nesterov", "group.0.nesterov", zeros({0}, boolean)));
}

TEST_CASE("a step count that is no number is refused") {
  const Tensor a = leaf({2});
  optim::AdamW adamw({a}, {.lr = 0.5});
  TensorMap state = adamw.state_dict();
  state["group.0.lr"] = full({}, 7, float64);
  state["state.0.step"] = zeros({2}, int64);
  CHECK(fails_with("of another shape: state.0.step", [&] { adamw.load_state_dict(state); }));
  CHECK(adamw.lr() == 0.5);
}

TEST_CASE("options that the constructor refuses are refused when they are loaded, and change nothing") {
  const Tensor a = leaf({2}), b = leaf({3});
  optim::SGD sgd(SgdGroups{{{a}, {.lr = 0.5, .momentum = 0.9}}, {{b}, {.lr = 0.25}}});
  optim::AdamW adamw({a}, {.lr = 0.5});
  a.set_grad(ones({2})), b.set_grad(ones({3}));
  sgd.step(), adamw.step();
  const auto refuses = [](optim::Optimizer& optimizer, const std::string& part, const std::string& name,
                          const Tensor& value) {
    const TensorMap before = optimizer.state_dict();
    TensorMap state = before;
    state["group.0.lr"] = full({}, 7, float64);
    state[name] = value;
    for (auto& [key, tensor] : state) {
      if (key.starts_with("state.") && key != name) tensor = laid_out(tensor, Lay::contiguous);
    }
    const bool refused = fails_with(part, [&] { optimizer.load_state_dict(state); });
    const TensorMap after = optimizer.state_dict();
    bool same = names_of(after) == names_of(before);
    for (const auto& [key, tensor] : before) same = same && bits_equal(after.at(key), tensor);
    return refused && same;
  };
  const auto number = [](double value) { return full({}, value, float64); };
  CHECK(refuses(sgd, "SGD: lr must not be negative, got -5", "group.1.lr", number(-5)));
  CHECK(refuses(sgd, "SGD: lr must not be negative, got nan", "group.0.lr", number(NAN)));
  CHECK(refuses(sgd, "SGD: momentum must not be negative", "group.1.momentum", number(-1)));
  CHECK(refuses(sgd, "SGD: weight_decay must not be negative", "group.0.weight_decay", number(-1)));
  CHECK(refuses(sgd, "SGD: nesterov needs momentum", "group.1.nesterov", full({}, true, boolean)));
  CHECK(refuses(adamw, "AdamW: betas must be from 0 to below 1", "group.0.beta2", number(1)));
  CHECK(refuses(adamw, "AdamW: eps must not be negative", "group.0.eps", number(-1)));
  CHECK(refuses(adamw, "AdamW: lr must not be negative, got -5", "group.0.lr", number(-5)));
  for (const double steps : {-7.0, 2.5, 1e30, -1.0}) {
    CHECK(refuses(adamw, " no count: state.0.step;", "state.0.step", number(steps)));
  }
  CHECK(refuses(adamw, " no count: state.0.step;", "state.0.step", number(NAN)));
  CHECK(refuses(adamw, " no count: state.0.step;", "state.0.step", full({}, -7, int64)));
}

TEST_CASE("a state of which a part is missing is refused by name, and changes nothing") {
  const Tensor a = leaf({2}), b = leaf({3});
  const auto refuses = [&](optim::Optimizer& optimizer, const std::vector<std::string>& left_out,
                           const std::string& problems) {
    a.set_grad(ones({2})), b.set_grad(ones({3}));
    optimizer.step();
    TensorMap state = optimizer.state_dict();
    for (const std::string& name : left_out) REQUIRE(state.erase(name) == 1);
    const TensorMap before = optimizer.state_dict();
    const std::string text = "the state does not fit the optimizer;" + problems;
    const bool refused = fails_with(text, [&] { optimizer.load_state_dict(state); }) &&
                         fails_with(text, [&] { optimizer.check_state_dict(state); });
    return refused && names_of(optimizer.state_dict()) == names_of(before);
  };
  optim::AdamW adamw({a, b}, {.amsgrad = true});
  CHECK(refuses(adamw, {"state.0.exp_avg_sq"}, " missing: state.0.exp_avg_sq; ("));
  CHECK(refuses(adamw, {"state.1.step"}, " missing: state.1.step; ("));
  CHECK(refuses(adamw, {"state.1.step", "state.1.exp_avg", "state.1.exp_avg_sq"},
                " missing: state.1.step; missing: state.1.exp_avg; missing: state.1.exp_avg_sq; ("));
  optim::RMSprop rmsprop({a, b}, {.momentum = 0.9});
  CHECK(refuses(rmsprop, {"state.1.square_avg"}, " missing: state.1.square_avg; ("));
  optim::Adagrad adagrad({a, b});
  CHECK(refuses(adagrad, {"state.0.sum"}, " missing: state.0.sum; ("));
  // What the options of that time did not call for may be absent, and so may a parameter's whole state.
  TensorMap state = adamw.state_dict();
  for (const char* const name : {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"})
    state.erase(std::string("state.0.") + name);
  state.erase("state.1.max_exp_avg_sq");
  CHECK_NOTHROW(adamw.load_state_dict(state));
  CHECK(names_of(adamw.state_dict()) == names_of(state));
}

TEST_CASE("an undefined tensor in an optimizer's state is refused by name") {
  const Tensor a = leaf({2});
  optim::AdamW adamw({a}, {.lr = 0.5});
  for (const char* const name : {"group.0.lr", "group.0.amsgrad", "state.0.step", "state.0.exp_avg"}) {
    TensorMap state = adamw.state_dict();
    state[name] = Tensor();
    CHECK(fails_with("does not fit the optimizer; undefined: " + std::string(name) + ";",
                     [&] { adamw.load_state_dict(state); }));
  }
}
