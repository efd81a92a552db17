#include <tern/tests/distributed/devices.h>

#include <functional>

using namespace tern;
using namespace tern::tests;

namespace {

using Arguments = std::vector<Tensor>;

// An operation and arguments for it; all of them go together to any device, and none alone.
struct Case {
  const char* name;
  Arguments arguments;
  std::function<Tensor(const Arguments&)> run;
};

Tensor x(const Shape& shape) { return scattered(shape, -2, 2, float32); }
Tensor positive(const Shape& shape) { return scattered(shape, 0.1, 0.9, float32); }
Tensor classes(int64_t n) { return randint(0, 3, {n}); }
Tensor yes(const Shape& shape) { return x(shape) > 0; }

#define ON(expression) [](const Arguments& a) -> Tensor { return expression; }

std::vector<Case> products_and_images() {
  return {
      {"matmul", {x({2, 3}), x({3, 2})}, ON(matmul(a[0], a[1]))},
      {"bmm", {x({2, 2, 3}), x({2, 3, 2})}, ON(bmm(a[0], a[1]))},
      {"dot", {x({3}), x({3})}, ON(dot(a[0], a[1]))},
      {"outer", {x({3}), x({2})}, ON(outer(a[0], a[1]))},
      {"einsum", {x({2, 3}), x({3, 2})}, ON(einsum("ij,jk->ik", {a[0], a[1]}))},
      {"linear", {x({2, 3}), x({4, 3}), x({4})}, ON(linear(a[0], a[1], a[2]))},
      {"flatten_linear", {x({2, 3, 2, 2}), x({4, 12}), x({4})}, ON(flatten_linear(a[0], a[1], a[2]))},
      {"conv1d", {x({2, 3, 8}), x({4, 3, 3}), x({4})}, ON(conv1d(a[0], a[1], a[2]))},
      {"conv2d", {x({2, 3, 8, 8}), x({4, 3, 3, 3}), x({4})}, ON(conv2d(a[0], a[1], a[2]))},
      {"conv2d_relu", {x({2, 3, 8, 8}), x({4, 3, 3, 3}), x({4})}, ON(conv2d_relu(a[0], a[1], a[2]))},
      {"conv2d_relu_max_pool2d",
       {x({2, 3, 8, 8}), x({4, 3, 3, 3}), x({4})},
       ON(conv2d_relu_max_pool2d(a[0], a[1], a[2]))},
      {"conv_transpose2d",
       {x({2, 3, 4, 4}), x({3, 4, 3, 3}), x({4})},
       ON(conv_transpose2d(a[0], a[1], a[2]))},
      {"attention",
       {x({1, 2, 3, 4}), x({1, 2, 3, 4}), x({1, 2, 3, 4})},
       ON(scaled_dot_product_attention(a[0], a[1], a[2]))},
      {"attention with a mask",
       {x({1, 2, 3, 4}), x({3, 3})},
       ON(scaled_dot_product_attention(a[0], a[0], a[0], {.attn_mask = a[1]}))},
      {"lstm",
       {x({4, 2, 3}), x({2, 2}), x({2, 2}), x({8, 3}), x({8, 2}), x({8}), x({8})},
       ON(lstm(a[0], a[1], a[2], a[3], a[4], a[5], a[6]).output)},
      {"gru",
       {x({4, 2, 3}), x({2, 2}), x({6, 3}), x({6, 2}), x({6}), x({6})},
       ON(gru(a[0], a[1], a[2], a[3], a[4], a[5]).output)},
  };
}

std::vector<Case> norms_and_losses() {
  return {
      {"batch_norm in training",
       {x({4, 3}), x({3}), positive({3}), x({3}), x({3})},
       ON(batch_norm(a[0], a[1], a[2], a[3], a[4], {.training = true}))},
      {"batch_norm in evaluation",
       {x({4, 3}), x({3}), positive({3}), x({3}), x({3})},
       ON(batch_norm(a[0], a[1], a[2], a[3], a[4]))},
      {"layer_norm", {x({4, 3}), x({3}), x({3})}, ON(layer_norm(a[0], {3}, a[1], a[2]))},
      {"rms_norm", {x({4, 3}), x({3})}, ON(rms_norm(a[0], {3}, a[1]))},
      {"group_norm", {x({4, 4, 2}), x({4}), x({4})}, ON(group_norm(a[0], 2, a[1], a[2]))},
      {"mse_loss", {x({4, 3}), x({4, 3})}, ON(mse_loss(a[0], a[1]))},
      {"l1_loss", {x({4, 3}), x({4, 3})}, ON(l1_loss(a[0], a[1]))},
      {"smooth_l1_loss", {x({4, 3}), x({4, 3})}, ON(smooth_l1_loss(a[0], a[1]))},
      {"huber_loss", {x({4, 3}), x({4, 3})}, ON(huber_loss(a[0], a[1]))},
      {"kl_div", {x({4, 3}), positive({4, 3})}, ON(kl_div(a[0], a[1]))},
      {"binary_cross_entropy",
       {positive({4, 3}), positive({4, 3}), positive({4, 3})},
       ON(binary_cross_entropy(a[0], a[1], {.weight = a[2]}))},
      {"binary_cross_entropy_with_logits",
       {x({4, 3}), positive({4, 3}), positive({4, 3}), positive({3})},
       ON(binary_cross_entropy_with_logits(a[0], a[1], {.weight = a[2], .pos_weight = a[3]}))},
      {"nll_loss", {x({4, 3}), classes(4), positive({3})}, ON(nll_loss(a[0], a[1], {.weight = a[2]}))},
      {"cross_entropy",
       {x({4, 3}), classes(4), positive({3})},
       ON(cross_entropy(a[0], a[1], {.weight = a[2]}))},
      {"cross_entropy of probabilities",
       {x({4, 3}), positive({4, 3}), positive({3})},
       ON(cross_entropy(a[0], a[1], {.weight = a[2]}))},
      {"cosine_similarity", {x({4, 3}), x({4, 3})}, ON(cosine_similarity(a[0], a[1]))},
  };
}

std::vector<Case> elements_and_indices() {
  return {
      {"add", {x({4, 3}), x({3})}, ON(a[0] + a[1])},
      {"div", {x({4, 3}), x({3})}, ON(a[0] / a[1])},
      {"pow", {positive({4, 3}), x({3})}, ON(pow(a[0], a[1]))},
      {"maximum", {x({4, 3}), x({3})}, ON(maximum(a[0], a[1]))},
      {"less", {x({4, 3}), x({3})}, ON(a[0] < a[1])},
      {"logical_and", {yes({4, 3}), yes({3})}, ON(logical_and(a[0], a[1]))},
      {"where", {yes({4, 3}), x({4, 3}), x({3})}, ON(where(a[0], a[1], a[2]))},
      {"masked_fill", {x({4, 3}), yes({4, 3})}, ON(masked_fill(a[0], a[1], 1))},
      {"masked_select", {x({4, 3}), yes({4, 3})}, ON(masked_select(a[0], a[1]))},
      {"cat", {x({4, 3}), x({2, 3})}, ON(cat({a[0], a[1]}))},
      {"stack", {x({4, 3}), x({4, 3})}, ON(stack({a[0], a[1]}))},
      {"gather", {x({4, 3}), randint(0, 3, {2, 3})}, ON(gather(a[0], 0, a[1]))},
      {"scatter", {x({4, 3}), randint(0, 3, {2, 3}), x({2, 3})}, ON(scatter(a[0], 0, a[1], a[2]))},
      {"scatter_add", {x({4, 3}), randint(0, 3, {2, 3}), x({2, 3})}, ON(scatter_add(a[0], 0, a[1], a[2]))},
      {"index_add", {x({4, 3}), classes(2), x({2, 3})}, ON(index_add(a[0], 0, a[1], a[2]))},
      {"index_select", {x({4, 3}), classes(2)}, ON(index_select(a[0], 0, a[1]))},
      {"index", {x({4, 3}), classes(2)}, ON(index(a[0], {a[1]}))},
      {"embedding", {classes(5), x({3, 2})}, ON(embedding(a[0], a[1]))},
      {"bincount", {classes(5), x({5})}, ON(bincount(a[0], a[1]))},
      {"+=",
       {x({4, 3}), x({3})},
       [](const Arguments& a) -> Tensor {
         Tensor y = clone(a[0]);
         y += a[1];
         return y;
       }},
  };
}
#undef ON

std::vector<Case> cases() {
  std::vector<Case> all = products_and_images();
  for (const auto& more : {norms_and_losses(), elements_and_indices()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("an operation whose arguments lie on different devices is an error that names them") {
  for (const Case& c : cases()) {
    for (size_t odd = 0; odd < c.arguments.size(); ++odd) {
      CAPTURE(std::string(c.name));
      CAPTURE(odd);
      Arguments arguments = c.arguments;
      arguments[odd] = to(arguments[odd], second);
      const std::string message = message_of([&] { c.run(arguments); });
      CAPTURE(message);
      CHECK(message.find("cpu:0") != std::string::npos);
      CHECK(message.find("cpu:1") != std::string::npos);
    }
  }
}

TEST_CASE("results and gradients lie where the arguments lie, and have the same bits on every device") {
  for (const Case& c : cases()) {
    CAPTURE(std::string(c.name));
    Arguments here, there;
    for (const Tensor& argument : c.arguments) {
      const bool wants = is_floating_point(argument.dtype());
      here.push_back(clone(argument).requires_grad_(wants));
      there.push_back(to(argument, second).requires_grad_(wants));
    }
    const Tensor a = c.run(here), b = c.run(there);
    CHECK(b.device() == second);
    CHECK(bits_equal(a, to(b, Device())));
    if (!a.requires_grad()) continue;
    backward(sum(a));
    backward(sum(b));
    for (size_t i = 0; i < here.size(); ++i) {
      const Tensor dx = here[i].grad(), dy = there[i].grad();
      CHECK(dx.defined() == dy.defined());
      if (!dy.defined()) continue;
      CHECK(dy.device() == second);
      CHECK(bits_equal(dx, to(dy, Device())));
    }
  }
}

TEST_CASE("a gradient on another device than its tensor is an error") {
  const Tensor leaf = x({3}).requires_grad_();
  CHECK(fails_with("backward: the result is on cpu:0, the given gradient on cpu:1",
                   [&] { backward(leaf * 2, {.gradient = to(x({3}), second)}); }));
  const Tensor y = record("mine", clone(leaf.detach()), {leaf},
                          [](const Tensor& dy) -> Gradients { return {to(dy, second)}; });
  CHECK(fails_with("mine: its backward returned a gradient on cpu:1 for an input on cpu:0",
                   [&] { backward(sum(y)); }));
}
