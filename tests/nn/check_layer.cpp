// check_layer() itself: it finds the mistakes that layers are made with.
#include <tern/autograd/operators.h>
#include <tern/nn/check_layer.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

struct TwoLinears : nn::Layer<TwoLinears> {
  nn::Linear first{3, 4}, second{4, 2};
  bool list_first = true, use_second = true;
  Tensor forward(const Tensor& x) { return use_second ? second(tanh(first(x))) : first(x); }
  void members(nn::Visitor& visitor) override {
    if (list_first) visitor.module("first", first);
    visitor.module("second", second);
  }
};

// Remembers calls, in no tensor.
struct Stateful : nn::Layer<Stateful> {
  double factor = 1;
  Tensor forward(const Tensor& x) { return x * (factor *= 2); }
};

// A copy is not what it was copied from.
struct Drifting : nn::Layer<Drifting> {
  double factor = 1;
  Drifting() = default;
  Drifting(const Drifting& other) : Layer(other), factor(other.factor + 1) {}
  Tensor forward(const Tensor& x) { return x * factor; }
};

// Its derivative stops at a detached tensor.
struct WrongGradient : nn::Layer<WrongGradient> {
  Tensor forward(const Tensor& x) { return x * x.detach(); }
};

const Tensor rows = scattered({2, 3}, -2, 2, float32);

}  // namespace

TEST_CASE("check_layer passes a sound layer, and leaves it as it was") {
  const TwoLinears layer;
  const Tensor before = laid_out(layer.first.weight, Lay::contiguous);
  nn::check_layer(layer, rows);
  CHECK(bits_equal(layer.first.weight, before));
  CHECK(layer.first.weight.dtype() == float32);
  CHECK_FALSE(layer.first.weight.grad().defined());
}

TEST_CASE("check_layer finds a parameter that is used but not listed") {
  TwoLinears layer;
  layer.list_first = false;
  CHECK(fails_with("is used but not listed by members()", [&] { nn::check_layer(layer, rows); }));
}

TEST_CASE("check_layer finds a parameter that is listed but not used, or does not require a gradient") {
  TwoLinears layer;
  layer.use_second = false;
  CHECK(fails_with("parameter second.weight is listed by members() but the result does not depend on it",
                   [&] { nn::check_layer(layer, rows); }));
  layer.use_second = true;
  layer.second.weight.requires_grad_(false);
  CHECK(fails_with("parameter second.weight does not require a gradient",
                   [&] { nn::check_layer(layer, rows); }));
}

TEST_CASE("check_layer finds a wrong gradient, calls that differ, and a clone that is another layer") {
  CHECK(fails_with("central differences", [] { nn::check_layer(WrongGradient(), rows); }));
  CHECK(fails_with("differs between two equal calls", [] { nn::check_layer(Stateful(), rows); }));
  CHECK(fails_with("a clone computes something else", [] { nn::check_layer(Drifting(), rows); }));
}
