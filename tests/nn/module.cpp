// Modules as values: training flags, dtypes, copies that share and clones that do not.
#include <tern/autograd/backward.h>
#include <tern/autograd/reductions.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/sequential.h>
#include <tern/optim/sgd.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// Two layers of one weight, a whole-number buffer, and a child that knows training from evaluation.
struct Tied : nn::Layer<Tied> {
  nn::Linear a{3, 3}, b{3, 3};
  nn::Dropout dropout;
  Tensor count = tensor_of({5}, {1}, int64);
  Tied() { b.weight = a.weight; }
  Tensor forward(const Tensor& x) { return dropout(b(a(x))); }
  void members(nn::Visitor& visitor) override {
    visitor.module("a", a);
    visitor.module("b", b);
    visitor.module("dropout", dropout);
    visitor.buffer("count", count);
  }
};

const Tensor rows = scattered({4, 3}, -2, 2, float32);

}  // namespace

TEST_CASE("train and eval reach every child") {
  Tied model;
  nn::Sequential outer(model, nn::Sequential(nn::Dropout(0.9)));
  CHECK(outer.is_training());
  outer.eval();
  int count = 0;
  outer.each_module([&](const std::string&, nn::Module& part) { count += !part.is_training(); });
  CHECK(count == 7);
  CHECK(bits_equal(outer(rows), outer(rows)));
  CHECK_FALSE(model.dropout.is_training());  // a copy shares the flag
  outer.train();
  CHECK(model.dropout.is_training());
}

TEST_CASE("each_module names everything below, parents first") {
  nn::Sequential model{nn::ReLU(), nn::Sequential(nn::Tanh())};
  std::string names;
  model.each_module([&](const std::string& name, nn::Module&) { names += "[" + name + "]"; });
  CHECK(names == "[][0][1][1.0]");
}

TEST_CASE("to(dtype) converts inside each tensor: ties, handles and gradients stay") {
  Tied model;
  const Tensor weight = model.a.weight, values = laid_out(weight, Lay::contiguous);
  model.eval();
  backward(sum(model(rows)));
  model.to(float64);
  CHECK(weight.is_same(model.a.weight));
  CHECK(weight.is_same(model.b.weight));
  CHECK(weight.dtype() == float64);
  CHECK(weight.requires_grad());
  CHECK(weight.grad().dtype() == float64);
  CHECK(values_of(weight) == values_of(values));
  CHECK(model.count.dtype() == int64);
  CHECK(model(scattered({4, 3})).dtype() == float64);
  CHECK(fails_with("Module::to: needs a floating-point dtype, got int64", [&] { model.to(int64); }));
}

TEST_CASE("an optimizer made before to(dtype) trains the converted parameters") {
  nn::Linear model(3, 2);
  optim::SGD optimizer(model.parameters(), {.lr = 1});
  model.to(float64);
  const std::vector<double> before = values_of(model.bias);
  backward(sum(model(scattered({1, 3}))));
  optimizer.step();
  CHECK(values_of(model.bias)[0] == doctest::Approx(before[0] - 1));
}

TEST_CASE("a copy shares tensors, also those that are trained later") {
  nn::Linear model(3, 2);
  nn::Linear copy = model;
  optim::SGD optimizer(model.parameters(), {.lr = 1});
  backward(sum(model(rows)));
  optimizer.step();
  CHECK(copy.weight.is_same(model.weight));
  CHECK(bits_equal(copy(rows), model(rows)));
}

TEST_CASE("a clone has tensors and flags of its own; ties survive in it, gradients do not") {
  Tied model;
  model.eval();
  model.b.bias.requires_grad_(false);
  backward(sum(model(rows)));
  Tied twin = clone(model);
  CHECK(bits_equal(twin(rows), model(rows)));
  CHECK_FALSE(twin.is_training());
  CHECK(twin.a.weight.is_same(twin.b.weight));
  CHECK_FALSE(twin.a.weight.grad().defined());
  CHECK(twin.a.weight.requires_grad());
  CHECK_FALSE(twin.b.bias.requires_grad());
  const TensorMap own = model.state_dict();
  for (const auto& [key, tensor] : twin.state_dict()) {
    const std::string& name = key;
    INFO(name);
    CHECK_FALSE(tensor.storage() == own.at(name).storage());
    CHECK(bits_equal(tensor, own.at(name)));
  }
  twin.train();
  CHECK_FALSE(model.is_training());
  CHECK_FALSE(model.dropout.is_training());
  twin.to(float64);
  CHECK(model.a.weight.dtype() == float32);
}

TEST_CASE("a clone of a Sequential is independent, as is a copy that is cloned") {
  const nn::Sequential model(nn::Linear(3, 2), nn::Dropout());
  nn::Sequential copy = model, twin = clone(copy);
  CHECK(copy[0].as<nn::Linear>()->weight.is_same(model.state_dict().at("0.weight")));
  CHECK_FALSE(twin[0].as<nn::Linear>()->weight.is_same(model.state_dict().at("0.weight")));
  twin.eval();
  CHECK(copy[1]->is_training());
  CHECK_FALSE(twin[1]->is_training());
}

TEST_CASE("requires_grad_ and zero_grad reach every parameter") {
  Tied model;
  model.requires_grad_(false);
  model.eval();
  CHECK_FALSE(model(rows).requires_grad());
  model.requires_grad_();
  backward(sum(model(rows)));
  for (const Tensor& p : model.parameters()) CHECK(p.grad().defined());
  model.zero_grad();
  for (const Tensor& p : model.parameters()) CHECK_FALSE(p.grad().defined());
}
