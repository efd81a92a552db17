#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/indexing.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/record.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/core/allocator.h>
#include <tern/core/build_info.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/pointwise.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <functional>
#include <utility>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

Tensor leaf(const Shape& shape, double low = -2, double high = 2) {
  return scattered(shape, low, high).requires_grad_();
}

// a + 2 b + 3 c, as an operation of a user.
Tensor weighted(const Tensor& a, const Tensor& b, const Tensor& c) {
  return record("weighted",
                kernels::add(a, kernels::add(kernels::mul(b, full({}, 2, float64)),
                                             kernels::mul(c, full({}, 3, float64)))),
                {a, b, c}, [](const Tensor& dy) -> Gradients {
                  return {dy, kernels::mul(dy, full({}, 2, float64)), kernels::mul(dy, full({}, 3, float64))};
                });
}

// The identity, whose backward does what it is told.
template <class Backward>
Tensor custom(const Tensor& x, Backward backward) {
  return record("custom", kernels::add(x, full({}, 0, float64)), {x}, backward);
}

}  // namespace

TEST_CASE("a tensor used n times has n times the gradient") {
  for (int n = 1; n <= 64; ++n) {
    const Tensor x = leaf({3});
    Tensor y = custom(x, [](const Tensor& dy) -> Gradients { return {dy}; });
    for (int i = 1; i < n; ++i) y = y + x;
    backward(sum(y));
    REQUIRE(values_of(x.grad()) == std::vector<double>(3, n));
    const Tensor z = leaf({3}), shared = z * 2;
    Tensor total = shared;
    for (int i = 1; i < n; ++i) total = total + shared;
    backward(sum(total));
    REQUIRE(values_of(z.grad()) == std::vector<double>(3, 2 * n));
  }
}

TEST_CASE("an operation that is given one tensor three times adds up its three gradients") {
  const Tensor x = leaf({2, 2});
  backward(sum(weighted(x, x, x)));
  CHECK(values_of(x.grad()) == std::vector<double>(4, 6));
  const Tensor y = x * 1.0;
  const Tensor dy = grad(sum(weighted(y, x, y)), {y})[0];
  CHECK(values_of(dy) == std::vector<double>(4, 4));
}

namespace {

using Operands = std::vector<Tensor>;
using Several = std::function<Tensor(const Operands&)>;

// Operations that take matrices of one shape, as many as there are operands.
std::vector<std::pair<size_t, Several>> operations_of_several() {
  const Tensor index = tensor({{2, 0, 1}, {1, 1, 2}, {0, 2, 0}}), rows = tensor({1, 1, 0});
  return {
      {2, [](const Operands& x) { return x[0] + x[1]; }},
      {2, [](const Operands& x) { return x[0] - x[1]; }},
      {2, [](const Operands& x) { return x[0] * x[1]; }},
      {2, [](const Operands& x) { return x[0] / x[1]; }},
      {2, [](const Operands& x) { return pow(x[0], x[1]); }},
      {2, [](const Operands& x) { return maximum(x[0], x[1]); }},
      {2, [](const Operands& x) { return where(x[0] > 1, x[0], x[1]); }},
      {3, [](const Operands& x) { return cat(x, 1); }},
      {3, [](const Operands& x) { return stack(x); }},
      {2, [](const Operands& x) { return matmul(x[0], x[1]); }},
      {3, [](const Operands& x) { return einsum("ij,jk,kl->il", x); }},
      {2, [](const Operands& x) { return linear(x[0], x[1]); }},
      {3, [](const Operands& x) { return scaled_dot_product_attention(x[0], x[1], x[2]); }},
      {4,
       [](const Operands& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = x[3]}); }},
      {2, [=](const Operands& x) { return scatter(x[0], 1, index, x[1]); }},
      {2, [=](const Operands& x) { return scatter_add(x[0], 1, index, x[1]); }},
      {2, [=](const Operands& x) { return index_add(x[0], 0, rows, x[1]); }},
      {2, [](const Operands& x) { return mse_loss(x[0], x[1] * 2); }},
      {2, [](const Operands& x) { return kl_div(x[0], x[1]); }},
      {2, [](const Operands& x) { return cosine_similarity(x[0], t(x[1])); }},
      {3,
       [](const Operands& x) {
         return layer_norm(x[0], {3, 3}, x[1], x[2]);
       }},
      {2,
       [](const Operands& x) {
         return rms_norm(x[0], {3, 3}, x[1]);
       }},
      {2,
       [](const Operands& x) {
         return conv2d(view(x[0], {1, 1, 3, 3}), view(x[1], {1, 1, 3, 3}), {}, {.padding = 1});
       }},
      {2,
       [](const Operands& x) {
         return conv_transpose2d(view(x[0], {1, 1, 3, 3}), view(x[1], {1, 1, 3, 3}));
       }},
      {2,
       [](const Operands& x) {
         const Tensor y = x[0] * 1.0;
         return y *= x[1];
       }},
  };
}

}  // namespace

TEST_CASE("every operation of several tensors adds up the gradients of one that it is given several times") {
  const Tensor values = scattered({3, 3}, 0.5, 2);
  int number = 0;
  for (const auto& [count, operation] : operations_of_several()) {
    ++number;
    CAPTURE(number);
    const Tensor x = clone(values).requires_grad_();
    const Tensor y = operation(Operands(count, x));
    const Tensor dy = upstream(y.shape()), got = grad(y, {x}, {.gradient = dy})[0];
    Operands apart;
    for (size_t i = 0; i < count; ++i) apart.push_back(clone(values).requires_grad_());
    Tensor sum = zeros({3, 3}, float64);
    for (const Tensor& dx : grad(operation(apart), apart, {.gradient = dy})) sum = sum + dx;
    CHECK(distance(got, sum) <= 1e-12);
  }
}

TEST_CASE("gradients of broadcast operands have the operands' shapes") {
  const Tensor a = full({1}, 2, float64).requires_grad_(), b = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3});
  backward(sum(a * b));
  CHECK(a.grad().shape() == Shape{1});
  CHECK(values_of(a.grad()) == std::vector<double>{21});
  const Tensor c = ones({4, 1}, float64).requires_grad_(),
               d = tensor_of({1, 2, 3, 4}, {1, 4}).requires_grad_();
  backward(sum(c * d));
  CHECK(bits_equal(c.grad(), full({4, 1}, 10, float64)));
  CHECK(bits_equal(d.grad(), full({1, 4}, 4, float64)));
  const Tensor s = full({}, 3, float64).requires_grad_();
  backward(sum(s * ones({2}, float64)));
  CHECK(s.grad().shape() == Shape{});
  CHECK(s.grad().item<double>() == 2);
}

TEST_CASE("gradients accumulate over calls of backward until they are dropped") {
  const Tensor x = leaf({2});
  backward(sum(x * 3));
  backward(sum(x * 4));
  CHECK(values_of(x.grad()) == std::vector<double>{7, 7});
  x.set_grad(Tensor());
  backward(sum(x));
  CHECK(values_of(x.grad()) == std::vector<double>{1, 1});
}

TEST_CASE("backward of a leaf gives the leaf its gradient") {
  const Tensor x = leaf({});
  backward(x);
  CHECK(x.grad().item<double>() == 1);
  CHECK(grad(x, {x})[0].item<double>() == 1);
}

TEST_CASE("nothing is recorded under NoGradGuard, and again inside EnableGradGuard") {
  const Tensor x = leaf({2});
  {
    const NoGradGuard off;
    CHECK_FALSE((x * 2).requires_grad());
    {
      const EnableGradGuard on;
      CHECK((x * 2).requires_grad());
    }
    CHECK_FALSE(is_grad_enabled());
  }
  CHECK((x * 2).requires_grad());
  CHECK_FALSE(custom(x.detach(), [](const Tensor& dy) -> Gradients { return {dy}; }).requires_grad());
}

TEST_CASE("a closure runs without recording, and the mode is back afterwards") {
  const Tensor x = leaf({2});
  bool recorded = true;
  backward(sum(custom(x, [&](const Tensor& dy) -> Gradients {
    recorded = is_grad_enabled();
    return {dy};
  })));
  CHECK_FALSE(recorded);
  CHECK(is_grad_enabled());
}

TEST_CASE("a graph is walked once, unless it was retained") {
  const Tensor x = leaf({2});
  const Tensor y = sum(exp(x));
  backward(y, {.retain_graph = true});
  backward(y);
  CHECK(distance(x.grad(), exp(x.detach()) * 2) == 0);
  CHECK(fails_with("backward: sum was walked before and gave up what it kept", [&] { backward(y); }));
  CHECK(fails_with("backward: exp was walked before", [&] {
    const Tensor z = exp(x);
    backward(sum(z));
    backward(sum(z));
  }));
}

TEST_CASE("grad gives gradients of leaves and results in between, and writes none") {
  const Tensor x = leaf({3}), w = leaf({3});
  const Tensor h = x * w, y = sum(h * h);
  const auto gradients = grad(y, {x, h, w, y}, {.retain_graph = true});
  CHECK(distance(gradients[1], h.detach() * 2) <= 1e-15);
  CHECK(distance(gradients[0], h.detach() * w.detach() * 2) <= 1e-15);
  CHECK(distance(gradients[2], h.detach() * x.detach() * 2) <= 1e-15);
  CHECK(gradients[3].item<double>() == 1);
  CHECK_FALSE((x.grad().defined() || w.grad().defined() || h.grad().defined()));
  const auto twice = grad(y, {x, x});
  CHECK((bits_equal(twice[0], gradients[0]) && bits_equal(twice[1], gradients[0])));
}

TEST_CASE("grad walks only what leads to its inputs") {
  const Tensor x = leaf({3}), other = leaf({3});
  int walked = 0;
  const Tensor side = custom(other, [&](const Tensor& dy) -> Gradients { return ++walked, Gradients{dy}; });
  const Tensor y = sum(x * side);
  CHECK(distance(grad(y, {x}, {.retain_graph = true})[0], other.detach()) == 0);
  CHECK(walked == 0);
  grad(y, {other});
  CHECK(walked == 1);
}

TEST_CASE("an input that the result does not depend on is an error, unless it is allowed") {
  const Tensor x = leaf({2}), unused = leaf({2});
  CHECK(fails_with("grad: the result does not depend on input 1", [&] { grad(sum(x), {x, unused}); }));
  const auto gradients = grad(sum(x * 2), {x, unused}, {.allow_unused = true});
  CHECK((gradients[0].defined() && !gradients[1].defined()));
  CHECK(fails_with("grad: input 0 requires no gradient", [&] { grad(sum(x), {x.detach()}); }));
}

TEST_CASE("backward says what it needs") {
  const Tensor x = leaf({2, 3});
  CHECK(fails_with("backward: the result requires no gradient", [&] { backward(sum(x.detach())); }));
  CHECK(fails_with("backward: a result of shape [2, 3] needs a gradient", [&] { backward(x * 2); }));
  CHECK(fails_with("the given gradient [3] and float64", [&] { backward(x * 2, {.gradient = leaf({3})}); }));
  CHECK(fails_with("the given gradient [2, 3] and float32", [&] {
    backward(x * 2, {.gradient = ones({2, 3})});
  }));
  CHECK(fails_with("backward: second derivatives", [&] { backward(sum(x), {.create_graph = true}); }));
  CHECK(fails_with("grad: second derivatives", [&] { grad(sum(x), {x}, {.create_graph = true}); }));
  backward(x * 2, {.gradient = upstream({2, 3})});
  CHECK(distance(x.grad(), upstream({2, 3}) * 2) == 0);
}

TEST_CASE("a closure that returns wrong gradients is named") {
  const Tensor x = leaf({2});
  CHECK(fails_with("custom: its backward returned 2 gradients for 1 inputs", [&] {
    backward(sum(custom(x, [](const Tensor& dy) -> Gradients { return {dy, dy}; })));
  }));
  CHECK(
      fails_with("custom: its backward returned a gradient of shape [3] and dtype float64 for an input of "
                 "shape [2]",
                 [&] { backward(sum(custom(x, [](const Tensor&) -> Gradients { return {leaf({3})}; }))); }));
  CHECK(fails_with("custom: its backward returned a gradient of shape [2] and dtype float32", [&] {
    backward(sum(custom(x, [](const Tensor&) -> Gradients { return {ones({2})}; })));
  }));
  CHECK(fails_with("twice: record() was given a tensor that has a past",
                   [&] { record("twice", x * 2, {x}, [](const Tensor& dy) -> Gradients { return {dy}; }); }));
  CHECK(fails_with("count: a result of dtype int64 has no gradient", [&] {
    record("count", zeros({2}, int64), {x}, [](const Tensor& dy) -> Gradients { return {dy}; });
  }));
}

TEST_CASE("a gradient that a closure leaves out counts as zero") {
  const Tensor x = leaf({2});
  backward(sum(custom(x, [](const Tensor&) -> Gradients { return {Tensor()}; }) + x));
  CHECK(values_of(x.grad()) == std::vector<double>{1, 1});
}

TEST_CASE("an exception in a closure leaves the graph and the mode usable") {
  const Tensor x = leaf({2});
  bool broken = true;
  const Tensor y = sum(exp(custom(x, [&](const Tensor& dy) -> Gradients {
    if (broken) throw std::runtime_error("broken");
    return {dy};
  })));
  CHECK_THROWS_WITH(backward(y, {.retain_graph = true}), "broken");
  CHECK(is_grad_enabled());
  CHECK(std::string(running_backward_of()) == "backward");
  CHECK_FALSE(x.grad().defined());
  broken = false;
  backward(y);
  CHECK(distance(x.grad(), exp(x.detach())) == 0);
}

TEST_CASE("frozen leaves get no gradient, and none is computed") {
  const Tensor x = leaf({2}), frozen = scattered({2});
  Wants seen;
  const Tensor y =
      record("both", kernels::add(x, frozen), {frozen, x}, [&](const Tensor& dy, Wants wants) -> Gradients {
        seen = wants;
        return {dy, dy};
      });
  frozen.requires_grad_();
  backward(sum(y));
  CHECK((!seen[0] && seen[1]));
  CHECK_FALSE(frozen.grad().defined());
  CHECK(x.grad().defined());
}

TEST_CASE("inputs beyond the 63rd share one answer") {
  std::vector<Tensor> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(i % 7 == 3 ? scattered({1}) : leaf({1}));
  backward(sum(cat(parts) * 2));
  for (int i = 0; i < 100; ++i) REQUIRE(parts[static_cast<size_t>(i)].grad().defined() == (i % 7 != 3));
}

TEST_CASE("two equal programs give gradients of equal bits") {
  const auto run = [] {
    const Tensor x = scattered({37, 41}, -2, 2, float32).requires_grad_(), w = leaf({41, 29});
    const Tensor h = tanh(matmul(x, to(w, float32)));
    backward(sum(h * softmax(h, 1) + h));
    return std::pair(x.grad(), w.grad());
  };
  const auto first = run(), second = run();
  CHECK((bits_equal(first.first, second.first) && bits_equal(first.second, second.second)));
}

TEST_CASE("memory is given back while backward passes") {
  const int64_t bytes = 1 << 20, n = 24;
  const auto peak = [&](bool retain) {
    const Tensor x = scattered({bytes / 8}, -0.01, 0.01).requires_grad_();
    Tensor y = x;
    for (int i = 0; i < n; ++i) y = exp(y) * 0.1;
    const Tensor result = sum(y);
    y = Tensor();
    const int64_t before = memory_statistics().allocated;
    reset_peak_memory_statistics();
    backward(result, {.retain_graph = retain});
    if (!retain) CHECK(memory_statistics().allocated <= before - (n - 2) * bytes);
    return memory_statistics().peak_allocated - before;
  };
  CHECK(peak(false) <= 4 * bytes);
  CHECK(peak(true) >= 0);
}
