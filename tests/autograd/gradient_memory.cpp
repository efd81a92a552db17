#include <tern/autograd/backward.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/gradient_check.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("a gradient has its tensor's strides, whatever the order it was computed in") {
  const Tensor values = scattered({4, 3, 5, 2});
  for (const Lay lay : all_lays) {
    const Tensor x = laid_out(values, lay).requires_grad_();
    const Strides expected = x.layout().is_dense() ? x.strides() : dense_strides(x.shape());
    for (const bool twice : {false, true}) {
      backward(sum(transpose(x, 1, 3) * scattered({4, 2, 5, 3})), {});
      CHECK(x.grad().strides() == expected);
      CHECK(distance(x.grad(), transpose(scattered({4, 2, 5, 3}), 1, 3) * (twice ? 2 : 1)) == 0);
    }
    x.set_grad(Tensor());
    backward(sum(x));
    CHECK(x.grad().strides() == expected);
    CHECK(x.grad().layout().overlaps_itself() == false);
  }
}

TEST_CASE("gradients of two leaves never share memory") {
  const Tensor a = scattered({3}).requires_grad_(), b = scattered({3}).requires_grad_();
  backward(a + b, {.gradient = ones({3}, float64)});
  a.grad().data<double>()[0] = 7;
  CHECK(values_of(b.grad()) == std::vector<double>{1, 1, 1});
  const Tensor given = ones({3}, float64), c = scattered({3}).requires_grad_();
  backward(c, {.gradient = given});
  c.grad().data<double>()[0] = 7;
  CHECK(values_of(given) == std::vector<double>{1, 1, 1});
}

TEST_CASE("a gradient lies in its leaf's slot: the first write overwrites, later ones add") {
  const Tensor bucket = full({10}, 99, float64), x = scattered({3, 2}).requires_grad_();
  x.impl()->grad_slot = bucket.with_layout(Layout({3, 2}, {2, 1}, 4));
  backward(sum(x * 2));
  CHECK(values_of(bucket) == std::vector<double>{99, 99, 99, 99, 2, 2, 2, 2, 2, 2});
  backward(sum(x * 3));
  CHECK(values_of(bucket) == std::vector<double>{99, 99, 99, 99, 5, 5, 5, 5, 5, 5});
  CHECK(x.grad().data() == bucket.data<double>() + 4);
  x.set_grad(Tensor());
  CHECK(values_of(bucket)[4] == 5);
  const uint64_t version = bucket.version();
  backward(sum(x));
  CHECK(values_of(bucket)[4] == 1);
  CHECK(bucket.version() > version);
}

TEST_CASE("set_grad takes only a gradient of the tensor's shape and dtype, and no tensor as its own") {
  const Tensor x = scattered({3}).requires_grad_();
  for (const DType dtype : {float32, bfloat16, int64, boolean}) {
    CHECK(fails_with("set_grad: the gradient is " + std::string(name(dtype)) + ", the tensor float64",
                     [&] { x.set_grad(ones({3}, dtype)); }));
  }
  CHECK(fails_with("set_grad: a tensor cannot be its own gradient", [&] { x.set_grad(x); }));
  CHECK_FALSE(x.grad().defined());
  CHECK(fails_with("set_grad: the gradient has shape [2], the tensor [3]", [&] { x.set_grad(ones({2})); }));
}

TEST_CASE("gradient_check finds a wrong gradient, and what it cannot check") {
  const Tensor x = scattered({4}).requires_grad_();
  const auto wrong = [](const std::vector<Tensor>& list) { return list[0] * list[0].detach(); };
  CHECK(fails_with("gradient_check: input 0 of shape [4], element 0: backward gives",
                   [&] { gradient_check(wrong, {x}); }));
  const auto square = [](const std::vector<Tensor>& list) { return list[0] * list[0]; };
  gradient_check(square, {x});
  CHECK(
      fails_with("must be a leaf of float64", [&] { gradient_check(square, {ones({2}).requires_grad_()}); }));
  CHECK(fails_with("elements do not share places", [&] {
    gradient_check(square, {expand(ones({1}, float64), {3}).detach().requires_grad_()});
  }));
  CHECK(fails_with("does not depend on any input", [&] {
    gradient_check([](const std::vector<Tensor>& list) { return list[0].detach(); }, {x});
  }));
  CHECK(fails_with("must return float64", [&] {
    gradient_check([](const std::vector<Tensor>&) { return ones({2}).requires_grad_() * 2; }, {x});
  }));
}

TEST_CASE("leaves_of names each leaf once") {
  const Tensor a = scattered({2}).requires_grad_(), b = scattered({2}).requires_grad_();
  const std::vector<Tensor> leaves = leaves_of(a * b + a * scattered({2}));
  CHECK(leaves.size() == 2);
  CHECK(leaves_of(scattered({2})).empty());
  CHECK(leaves_of(a)[0].is_same(a));
}
