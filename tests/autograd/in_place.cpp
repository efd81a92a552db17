#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/indexing.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/ordering.h>
#include <tern/autograd/record.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/optim/sgd.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {
Tensor leaf(const Shape& shape, double low = -2, double high = 2) {
  return scattered(shape, low, high).requires_grad_();
}
}  // namespace

TEST_CASE("a saved tensor that was changed in place is refused, naming operation, shape and versions") {
  const Tensor x = tensor_of({1, 2}, {1, 2}), w = tensor_of({3, 4}, {2, 1}).requires_grad_();
  const std::string expected =
      "matmul: a tensor of shape [1, 2] that backward needs was changed in place: it is at version 1, "
      "backward "
      "needs version 0";
  const Tensor direct = matmul(x, w);
  x += 1;
  CHECK(fails_with(expected, [&] { backward(direct); }));
  const Tensor again = matmul(x, w);
  select(x, 1, 0) += 1;
  CHECK(fails_with("it is at version 2, backward needs version 1", [&] { backward(again); }));
  CHECK_FALSE(w.grad().defined());
  const Tensor untouched = matmul(x, w);
  backward(untouched);
  CHECK(values_of(w.grad()) == std::vector<double>{3, 3});
}

TEST_CASE("a parameter that an optimizer or load changed before backward is refused") {
  const Tensor w = leaf({3}), x = leaf({3});
  const Tensor y = sum(w * x);
  w.set_grad(ones({3}, float64));
  optim::SGD({w}, {.lr = 0.1}).step();
  CHECK(fails_with("mul: a tensor of shape [3] that backward needs was changed in place",
                   [&] { backward(y); }));
}

TEST_CASE("a result that was changed in place is refused where its operation kept it") {
  const Tensor x = leaf({3});
  const Tensor y = exp(x);
  y += 1;
  CHECK(fails_with("exp: a tensor of shape [3]", [&] { backward(sum(y)); }));
  const Tensor z = x + 1;
  z *= 3;
  backward(sum(z));
  CHECK(values_of(x.grad()) == std::vector<double>{3, 3, 3});
}

TEST_CASE("a write through data() counts when it is told") {
  const Tensor x = leaf({3});
  const Tensor y = sum(x * x);
  x.data<double>()[0] = 5;
  x.bump_version();
  CHECK(fails_with("mul: a tensor of shape [3]", [&] { backward(y); }));
}

TEST_CASE("leaves that require a gradient are changed in place only while nothing is recorded") {
  const Tensor x = leaf({3});
  const std::vector<std::pair<const char*, std::function<void()>>> changes{
      {"add_", [&] { x += 1; }},         {"add_", [&] { x += leaf({3}); }},
      {"sub_", [&] { x -= leaf({3}); }}, {"mul_", [&] { x *= 2; }},
      {"div_", [&] { x /= leaf({3}); }}, {"copy_", [&] { copy_(x, leaf({3})); }},
      {"fill_", [&] { fill_(x, 1); }},   {"fill_", [&] { zero_(x); }}};
  for (const auto& [name, change] : changes) {
    CHECK(fails_with(std::string(name) + ": a leaf that requires a gradient", change));
    const uint64_t version = x.version();
    const NoGradGuard no_grad;
    CHECK(message_of(change) == "no error");
    CHECK(x.version() == version + 1);
  }
}

TEST_CASE("recorded views and what has them are not changed in place") {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * 2, part = select(y, 0, 0);
  CHECK(fails_with("add_: a recorded tensor with views (or a view of one)", [&] { y += 1; }));
  CHECK(fails_with("mul_: a recorded tensor with views (or a view of one)", [&] { part *= 2; }));
  const Tensor own = clone(part);
  own += 1;
  backward(sum(own));
  CHECK(values_of(x.grad()) == std::vector<double>{2, 2, 2, 0, 0, 0});
}

TEST_CASE("an expanded view is never written to") {
  const Tensor x = expand(ones({1, 1}, float64), {4, 5});
  const std::vector<std::function<void()>> changes{
      [&] { x += 1; },      [&] { x -= ones({4, 5}, float64); }, [&] { x *= 2; },
      [&] { fill_(x, 2); }, [&] { x /= ones({}, float64); },     [&] { copy_(x, ones({4, 5}, float64)); },
      [&] { zero_(x); }};
  for (const auto& change : changes) {
    CHECK(fails_with("clone() it first", change));
    const NoGradGuard no_grad;
    CHECK(fails_with("clone() it first", change));
  }
  CHECK(values_of(x) == std::vector<double>(20, 1));
}

TEST_CASE("writes in place keep the dtype, and the gradient's dtypes fit") {
  const Tensor x = leaf({3}), w = scattered({3}, 1, 2, float32).requires_grad_();
  const Tensor y = to(x, float32) * 1;
  y *= to(w, float64);
  y /= to(w, float64) * 2.0;
  y += to(w, float64);
  y -= to(w, float64) * 3.0;
  CHECK(y.dtype() == float32);
  backward(sum(y));
  CHECK(x.grad().dtype() == float64);
  CHECK(w.grad().dtype() == float32);
  CHECK(distance(x.grad(), full({3}, 0.5, float64)) <= 1e-6);
  CHECK(distance(w.grad(), full({3}, -2)) <= 1e-5);
}

TEST_CASE("a tensor without gradients takes one on by a write") {
  const Tensor w = leaf({3});
  const Tensor x = zeros({3}, float64);
  x += w;
  x += w * 2;
  CHECK((x.requires_grad() && !x.is_leaf()));
  backward(sum(x));
  CHECK(values_of(w.grad()) == std::vector<double>{3, 3, 3});
  const Tensor covered = clone(w);
  fill_(covered, 7);
  const Tensor y = leaf({3});
  copy_(covered, y);
  w.set_grad(Tensor());
  backward(sum(covered));
  CHECK_FALSE(w.grad().defined());
  CHECK(values_of(y.grad()) == std::vector<double>{1, 1, 1});
}

TEST_CASE("gradients are never lost in a view of a tensor without gradients") {
  const Tensor w = leaf({3});
  const Tensor table = zeros({2, 3}, float64);
  const std::string text = message_of([&] {
    copy_(select(table, 0, 1), w);
    backward(sum(table));
  });
  const bool right = text == "no error" && w.grad().defined();
  CHECK((right || text.find("copy_: ") == 0));
  const Tensor base = zeros({3}, float64), view_of_it = view(base, {3, 1});
  const std::string other = message_of([&] {
    base += w;
    backward(sum(view_of_it));
  });
  CHECK((other == "no error" || other.find("add_: ") == 0));
}

namespace {
Tensor numbers(int64_t count) { return to(arange(count), float64); }
}  // namespace

TEST_CASE("another view of the memory that is written gives what it held before") {
  const int64_t n = 100000;  // enough for several threads
  for (const int64_t shift : {1, 3, 64}) {
    for (const bool forward : {true, false}) {
      const Tensor x = numbers(n), y = numbers(n);
      const int64_t to = forward ? shift : 0, from = forward ? 0 : shift;
      narrow(x, 0, to, n - shift) += narrow(x, 0, from, n - shift);
      copy_(narrow(y, 0, to, n - shift), narrow(y, 0, from, n - shift));
      const Tensor old = narrow(numbers(n), 0, from, n - shift);
      CHECK(equal(narrow(x, 0, to, n - shift), old + narrow(numbers(n), 0, to, n - shift)));
      CHECK(equal(narrow(y, 0, to, n - shift), old));
    }
  }
  const Tensor square = scattered({200, 200}), before = clone(square);
  square += transpose(square, 0, 1);
  CHECK(equal(square, before + transpose(before, 0, 1)));
  const Tensor turned = clone(before);
  copy_(turned, transpose(turned, 0, 1));
  CHECK(equal(turned, transpose(before, 0, 1)));
  const Tensor row = numbers(6), table = view(row, {2, 3});
  table += select(table, 0, 0);
  CHECK(values_of(row) == std::vector<double>{0, 2, 4, 3, 5, 7});
}

TEST_CASE("a factor or divisor that shares memory with what it changes is refused by backward, not misread") {
  const Tensor leaf = tensor({2.0, 3.0}).requires_grad_();
  Tensor x = leaf * 1.0;
  x *= x;
  CHECK_THROWS_AS(backward(sum(x)), Error);
  x = leaf * 1.0;
  x /= x.detach();
  CHECK_THROWS_AS(backward(sum(x)), Error);
}

namespace {

struct Argument {
  Tensor value;
  std::function<Tensor(const Tensor& x, const Tensor& argument)> operation;
};

// Indices, masks, targets and weights, of which each has a value that `fill_(…, 0)` changes.
std::vector<std::pair<const char*, Argument>> arguments_for_square() {
  const Tensor index = tensor({{2, 0, 1}, {1, 1, 2}, {0, 2, 0}}), labels = tensor({2, 0, 1});
  const Tensor mask = tensor({{true, false, true}, {false, true, true}, {true, false, false}});
  const Tensor numbers = scattered({3, 3}, 0.1, 0.9), weights = tensor_of({1, 2, 3}, {3});
  return {
      {"gather", {index, [](auto& x, auto& i) { return gather(x, 1, i); }}},
      {"scatter", {index, [](auto& x, auto& i) { return scatter(x, 1, i, x * 2); }}},
      {"scatter_add", {index, [](auto& x, auto& i) { return scatter_add(x, 1, i, x * 2); }}},
      {"index_add", {labels, [](auto& x, auto& i) { return index_add(x, 0, i, x * 2); }}},
      {"index_select", {labels, [](auto& x, auto& i) { return index_select(x, 1, i); }}},
      {"embedding", {index, [](auto& x, auto& i) { return embedding(i, x); }}},
      {"where", {mask, [](auto& x, auto& m) { return where(m, x, x * 2); }}},
      {"masked_fill", {mask, [](auto& x, auto& m) { return masked_fill(x, m, 3); }}},
      {"masked_select", {mask, [](auto& x, auto& m) { return masked_select(x, m); }}},
      {"nll_loss", {labels, [](auto& x, auto& t) { return nll_loss(x, t); }}},
      {"nll_loss", {weights, [=](auto& x, auto& w) { return nll_loss(x, labels, {.weight = w}); }}},
      {"cross_entropy", {labels, [](auto& x, auto& t) { return cross_entropy(x, t); }}},
      {"cross_entropy", {weights, [=](auto& x, auto& w) { return cross_entropy(x, labels, {.weight = w}); }}},
      {"cross_entropy", {numbers, [](auto& x, auto& t) { return cross_entropy(x, t); }}},
      {"cross_entropy",
       {weights, [=](auto& x, auto& w) { return cross_entropy(x, numbers, {.weight = w}); }}},
      {"mse_loss", {numbers, [](auto& x, auto& t) { return mse_loss(x, t); }}},
      {"kl_div", {numbers, [](auto& x, auto& t) { return kl_div(x, t); }}},
      {"binary_cross_entropy_with_logits",
       {numbers,
        [=](auto& x, auto& w) { return binary_cross_entropy_with_logits(x, numbers, {.weight = w}); }}},
      {"binary_cross_entropy_with_logits",
       {weights,
        [=](auto& x, auto& w) { return binary_cross_entropy_with_logits(x, numbers, {.pos_weight = w}); }}},
      {"attention",
       {mask, [](auto& x, auto& m) { return scaled_dot_product_attention(x, x, x, {.attn_mask = m}); }}},
      {"attention",
       {numbers, [](auto& x, auto& m) { return scaled_dot_product_attention(x, x, x, {.attn_mask = m}); }}},
      {"batch_norm", {weights, [=](auto& x, auto& v) { return batch_norm(x, weights, v); }}},
      {"batch_norm",
       {weights, [](auto& x, auto& v) { return batch_norm(x, clone(v), v, {}, {}, {.training = true}); }}},
  };
}

}  // namespace

TEST_CASE("indices, masks, targets and weights that change before backward are refused or do not matter") {
  const Tensor start = scattered({3, 3});
  for (const auto& entry : arguments_for_square()) {
    INFO(entry.first);
    const Argument& argument = entry.second;
    const auto run = [&](bool changed) {
      const Tensor x = clone(start).requires_grad_(), own = clone(argument.value);
      const Tensor y = argument.operation(x, own);
      if (changed) fill_(own, 0);
      return grad(y, {x}, {.gradient = upstream(y.shape())})[0];
    };
    const Tensor expected = run(false);
    Tensor got;
    const std::string text = message_of([&] { got = run(true); });
    const bool refused = text.find("that backward needs was changed in place") != std::string::npos;
    CHECK((refused || bits_equal(got, expected)));
  }
}

TEST_CASE("indices that an operation gave out and that change before backward are refused or do not matter") {
  using Chosen = std::function<ValuesAndIndices(const Tensor&)>;
  for (const Chosen& choose : std::vector<Chosen>{
           [](const Tensor& x) { return max(x, 2); }, [](const Tensor& x) { return min(x, 1, true); },
           [](const Tensor& x) { return sort(x, 2, true); }, [](const Tensor& x) { return topk(x, 2, 1); },
           [](const Tensor& x) { return max_pool2d_with_indices(x, 2); },
           [](const Tensor& x) { return adaptive_max_pool2d_with_indices(x, 1); }}) {
    const auto run = [&](bool changed) {
      const Tensor x = scattered({2, 4, 4}).requires_grad_();
      const auto [values, indices] = choose(x);
      if (changed) fill_(indices, 0);
      return grad(values, {x}, {.gradient = upstream(values.shape())})[0];
    };
    const Tensor expected = run(false);
    Tensor got;
    const std::string text = message_of([&] { got = run(true); });
    CHECK((text.find("was changed in place") != std::string::npos || bits_equal(got, expected)));
  }
}
