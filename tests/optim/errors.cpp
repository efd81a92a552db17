// What optimizers refuse.
#include <tern/autograd/operators.h>
#include <tern/kernels/creation.h>
#include <tern/optim/adagrad.h>
#include <tern/optim/adam.h>
#include <tern/optim/adamw.h>
#include <tern/optim/lion.h>
#include <tern/optim/rmsprop.h>
#include <tern/optim/sgd.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

Tensor leaf(const Shape& shape = {3}) { return scattered(shape, -2, 2, float32).requires_grad_(); }

template <class Optimizer, class Options>
bool refuses(const std::string& part, const Options& options) {
  return fails_with(part, [&] { Optimizer({leaf()}, options); });
}

bool sgd_refuses(const std::string& part, const optim::SGDOptions& options) {
  return refuses<optim::SGD>(part, options);
}

bool adamw_refuses(const std::string& part, const optim::AdamWOptions& options) {
  return refuses<optim::AdamW>(part, options);
}

bool rmsprop_refuses(const std::string& part, const optim::RMSpropOptions& options) {
  return refuses<optim::RMSprop>(part, options);
}

bool adagrad_refuses(const std::string& part, const optim::AdagradOptions& options) {
  return refuses<optim::Adagrad>(part, options);
}

}  // namespace

TEST_CASE("options that make no sense are refused, naming option and value") {
  CHECK(sgd_refuses("SGD: lr must not be negative, got -0.1", {.lr = -0.1}));
  CHECK(sgd_refuses("SGD: lr must not be negative, got nan", {.lr = NAN}));
  CHECK(sgd_refuses("SGD: momentum must not be negative, got -1", {.momentum = -1}));
  CHECK(sgd_refuses("SGD: weight_decay must not be negative, got -2", {.weight_decay = -2}));
  CHECK(sgd_refuses("SGD: nesterov needs momentum and no dampening", {.nesterov = true}));
  CHECK(sgd_refuses("SGD: nesterov needs momentum and no dampening",
                    {.momentum = 0.9, .dampening = 0.1, .nesterov = true}));
  CHECK(adamw_refuses("AdamW: lr must not be negative, got -0.1", {.lr = -0.1}));
  CHECK(adamw_refuses("AdamW: betas must be from 0 to below 1, got 1 and 0.999", {.beta1 = 1}));
  CHECK(adamw_refuses("AdamW: betas must be from 0 to below 1, got 0.9 and -0.5", {.beta2 = -0.5}));
  CHECK(adamw_refuses("AdamW: eps must not be negative, got -1", {.eps = -1}));
  CHECK(adamw_refuses("AdamW: weight_decay must not be negative, got -1", {.weight_decay = -1}));
  CHECK(refuses<optim::Adam>("Adam: eps must not be negative, got -1", optim::AdamOptions{.eps = -1}));
  CHECK(refuses<optim::Lion>("Lion: betas must be from 0", optim::LionOptions{.beta2 = 1}));
  CHECK(rmsprop_refuses("RMSprop: alpha must not be negative, got -1", {.alpha = -1}));
  CHECK(rmsprop_refuses("RMSprop: momentum must not be negative, got nan", {.momentum = NAN}));
  CHECK(adagrad_refuses("Adagrad: lr_decay must not be negative, got -1", {.lr_decay = -1}));
  CHECK(adagrad_refuses("Adagrad: initial_accumulator_value must not be negative",
                        {.initial_accumulator_value = -1}));
}

TEST_CASE("the options of every group are checked, and again when they were changed") {
  CHECK(fails_with("SGD: lr must not be negative", [] {
    optim::SGD(
        std::vector<optim::ParamGroup<optim::SGDOptions>>{{{leaf()}, {.lr = 1}}, {{leaf()}, {.lr = -1}}});
  }));
  const Tensor x = leaf();
  optim::SGD optimizer({x}, {.lr = 0.1});
  x.set_grad(ones({3}));
  optimizer.set_lr(-1);
  CHECK(fails_with("SGD: lr must not be negative, got -1", [&] { optimizer.step(); }));
  optimizer.set_lr(0.1);
  optimizer.options().nesterov = true;
  CHECK(fails_with("SGD: nesterov needs momentum", [&] { optimizer.step(); }));
}

TEST_CASE("what is no parameter is refused") {
  const Tensor x = leaf();
  CHECK(fails_with("a group has no parameters", [] { optim::SGD(std::vector<Tensor>{}); }));
  CHECK(fails_with("at least one group",
                   [] { optim::SGD(std::vector<optim::ParamGroup<optim::SGDOptions>>{}); }));
  CHECK(fails_with("at least one group",
                   [] { optim::AdamW(std::vector<optim::ParamGroup<optim::AdamWOptions>>{}); }));
  CHECK(fails_with("must be floating-point leaves", [] { optim::SGD({Tensor()}); }));
  CHECK(fails_with("must be floating-point leaves", [&] { optim::SGD({x * 2}); }));
  CHECK(fails_with("must be floating-point leaves", [] { optim::SGD({zeros({2}, int64)}); }));
  CHECK(fails_with("a parameter of shape [3] was given twice", [&] { optim::SGD({leaf(), x, x}); }));
  CHECK(fails_with("a parameter of shape [3] was given twice", [&] {
    optim::SGD(std::vector<optim::ParamGroup<optim::SGDOptions>>{{{x}, {.lr = 1}}, {{x}, {.lr = 2}}});
  }));
}

TEST_CASE("a group that does not exist is refused") {
  optim::SGD sgd({leaf()}, {.lr = 0.1});
  optim::AdamW adamw({leaf()}, {.lr = 0.1});
  CHECK(fails_with("there is no group 1 among 1", [&] { sgd.set_lr(1, 1); }));
  CHECK(fails_with("there is no group 2 among 1", [&] { static_cast<void>(sgd.lr(2)); }));
  CHECK(fails_with("there is no group 1 among 1", [&] { sgd.options(1).momentum = 1; }));
  CHECK(fails_with("there is no group 1 among 1", [&] { adamw.set_lr(1, 1); }));
  CHECK(fails_with("there is no group 1 among 1", [&] { adamw.options(1).eps = 1; }));
}
