#include <tern/autograd/backward.h>
#include <tern/autograd/backward_observer.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/autograd/reductions.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// A leaf whose hook notes the gradient's first value at each call.
struct Watched {
  explicit Watched(double value) : x(full({2}, value, float64).requires_grad_()) {
    id = register_post_accumulate_grad_hook(x, [this](const Tensor& leaf) {
      seen.push_back(values_of(leaf.grad())[0]);
      same = same && leaf.is_same(x);
    });
  }
  Tensor x;
  int64_t id;
  std::vector<double> seen;
  bool same = true;
};

}  // namespace

TEST_CASE("a hook is called once a backward, when the gradient is complete") {
  for (const int uses : {1, 2, 5, 64}) {
    Watched leaf(3);
    const auto total = [&] {
      Tensor y = leaf.x * 1.0;
      for (int i = 1; i < uses; ++i) y = y + leaf.x;
      return sum(y);
    };
    backward(total());
    REQUIRE(leaf.seen == std::vector<double>{1.0 * uses});
    backward(total());
    REQUIRE(leaf.seen == std::vector<double>{1.0 * uses, 2.0 * uses});
    REQUIRE(leaf.same);
  }
}

TEST_CASE("a hook is called for a leaf that one operation takes several times") {
  Watched leaf(3);
  backward(sum(leaf.x * leaf.x));
  CHECK(leaf.seen == std::vector<double>{6});
  backward(leaf.x, {.gradient = ones({2}, float64)});
  CHECK(leaf.seen == std::vector<double>{6, 7});
}

TEST_CASE("a hook is called while the rest of the walk still goes on") {
  const Tensor early = ones({2}, float64).requires_grad_(), late = ones({2}, float64).requires_grad_();
  std::vector<int> order;
  register_post_accumulate_grad_hook(early, [&](const Tensor&) {
    order.push_back(0);
    CHECK_FALSE(late.grad().defined());
  });
  register_post_accumulate_grad_hook(late, [&](const Tensor&) { order.push_back(1); });
  backward(sum(exp(late * 2) * early));
  CHECK(order == std::vector<int>{0, 1});
}

TEST_CASE("hooks are called in the order of registration until they are removed") {
  const Tensor x = ones({2}, float64).requires_grad_();
  std::vector<int> order;
  std::vector<int64_t> ids;
  for (int i = 0; i < 3; ++i)
    ids.push_back(register_post_accumulate_grad_hook(x, [&order, i](const Tensor&) { order.push_back(i); }));
  backward(sum(x));
  CHECK(order == std::vector<int>{0, 1, 2});
  remove_hook(x, ids[1]);
  remove_hook(x, ids[1]);
  backward(sum(x));
  CHECK(order == std::vector<int>{0, 1, 2, 0, 2});
  remove_hook(ones({1}), 7);
}

TEST_CASE("no hook is called by grad, and by a backward that writes no gradient") {
  Watched leaf(3);
  grad(sum(leaf.x * 2), {leaf.x});
  CHECK(leaf.seen.empty());
  const Tensor silent = record("silent", kernels::clone(leaf.x), {leaf.x},
                               [](const Tensor&) -> Gradients { return {Tensor()}; });
  backward(sum(silent));
  CHECK(leaf.seen.empty());
}

TEST_CASE("hooks are called after a walk that left uses open: one by grad, or one that failed") {
  Watched leaf(3);
  const Tensor failing = record("failing", kernels::clone(leaf.x), {leaf.x},
                                [](const Tensor&) -> Gradients { throw std::runtime_error("broken"); });
  for (int i = 1; i <= 4; ++i) {
    grad(sum(leaf.x * leaf.x), {leaf.x});
    CHECK_THROWS(backward(sum(failing + leaf.x)));
    leaf.x.set_grad(Tensor());
    backward(sum(leaf.x * leaf.x));
    CHECK(leaf.seen.size() == static_cast<size_t>(i));
  }
}

TEST_CASE("a leaf that one branch does not reach is complete when the others are done") {
  Watched leaf(3);
  const Tensor blocked = record("blocked", kernels::clone(leaf.x), {leaf.x},
                                [](const Tensor&) -> Gradients { return {Tensor()}; });
  backward(sum(exp(blocked) * 0.0 + leaf.x));
  CHECK(leaf.seen == std::vector<double>{1});
}

TEST_CASE("a hook may replace or drop the gradient, and take gradients itself") {
  const Tensor x = ones({2}, float64).requires_grad_(), other = ones({2}, float64).requires_grad_();
  register_post_accumulate_grad_hook(x, [&](const Tensor& leaf) {
    const EnableGradGuard recording;  // hooks start without
    backward(sum(other * leaf.grad()));
    leaf.set_grad(Tensor());
  });
  backward(sum(x * 4 + x));
  CHECK_FALSE(x.grad().defined());
  CHECK(values_of(other.grad()) == std::vector<double>{5, 5});
}

TEST_CASE("only leaves that require a gradient take hooks") {
  const Tensor x = ones({2}, float64).requires_grad_();
  const auto nothing = [](const Tensor&) {};
  CHECK(fails_with("needs a leaf", [&] { register_post_accumulate_grad_hook(x * 2, nothing); }));
  CHECK(fails_with("needs a leaf", [&] { register_post_accumulate_grad_hook(x.detach(), nothing); }));
  CHECK(fails_with("register_post_accumulate_grad_hook: the hook is empty",
                   [&] { register_post_accumulate_grad_hook(x, nullptr); }));
  CHECK(fails_with("the hook is empty",
                   [&] { register_post_accumulate_grad_hook(x, std::function<void(const Tensor&)>()); }));
  backward(sum(x));
}

namespace {

// Notes what it is told as text.
struct Notes : BackwardObserver {
  void begin(const std::vector<size_t>& leaves) override {
    text += "begin";
    for (const size_t leaf : leaves) text += " " + std::to_string(leaf);
  }
  void complete(size_t leaf) override { text += "; " + std::to_string(leaf); }
  void end() override { text += "; end"; }
  void abandon() noexcept override { text += "; abandoned"; }
  std::string text;
};

}  // namespace

TEST_CASE("an observer learns which leaves a backward reaches, when each is complete, and when all is done") {
  Notes notes;
  const Tensor a = ones({2}, float64).requires_grad_(), b = ones({2}, float64).requires_grad_(),
               c = ones({2}, float64).requires_grad_();
  observe_backward(a, &notes, 7);
  observe_backward(b, &notes, 8);
  observe_backward(c, &notes, 9);
  CHECK((is_observed(a) && !is_observed(a * 1.0)));
  const auto told = [&](const std::function<void()>& action) {
    notes.text.clear();
    action();
    return notes.text;
  };
  CHECK(told([&] { backward(sum((a * a) * b)); }) == "begin 8 7; 8; 7; end");
  CHECK(told([&] { backward(a, {.gradient = ones({2}, float64)}); }) == "begin 7; 7; end");
  CHECK(told([&] { grad(sum(a * b), {a}); }).empty());
  const Tensor broken =
      record("breaks", a.detach(), {a}, [](const Tensor&) -> Gradients { throw Error("on purpose"); });
  CHECK(told([&] { CHECK(fails_with("on purpose", [&] { backward(sum(broken * c)); })); }) ==
        "begin 9 7; 9; abandoned");
  CHECK(fails_with("observed already", [&] { observe_backward(a, &notes); }));
  CHECK(fails_with("needs a leaf that requires", [&] { observe_backward(ones({2}), &notes); }));
  observe_backward(b, nullptr);
  CHECK(told([&] { backward(sum(a * b)); }) == "begin 7; 7; end");
  observe_backward(a, nullptr);
  observe_backward(c, nullptr);
  CHECK(told([&] { backward(sum(a * c)); }).empty());
}
