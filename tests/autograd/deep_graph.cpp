#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <pthread.h>

#include <exception>
#include <thread>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int depth = 100'000;

// Runs `body` on a thread whose stack holds no recursion a hundred thousand deep, or even a thousand.
void on_small_stack(std::function<void()> body) {
  struct Task {
    std::function<void()> body;
    std::exception_ptr error;
  } task{std::move(body), nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    auto& its = *static_cast<Task*>(argument);
    try {
      its.body();
    } catch (...) {
      its.error = std::current_exception();
    }
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &task) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (task.error) std::rethrow_exception(task.error);
}

Tensor chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < depth; ++i) y = y + 1;
  return y;
}

}  // namespace

TEST_CASE("a graph of 100,000 operations is built, walked and taken down in a small stack") {
  on_small_stack([] {
    const Tensor x = ones({2}, float64).requires_grad_();
    backward(sum(chain(x)));
    check(values_of(x.grad()) == std::vector<double>{1, 1}, "the gradient is not 1");
  });
}

TEST_CASE("a graph of 100,000 operations that is never walked goes away in a small stack") {
  on_small_stack([] { chain(ones({2}, float64).requires_grad_()); });
}

TEST_CASE("a wide graph goes away in a small stack, also when its parts are held elsewhere") {
  on_small_stack([] {
    const Tensor x = ones({1}, float64).requires_grad_();
    std::vector<Tensor> parts;
    for (int i = 0; i < depth / 10; ++i) parts.push_back(x * 2 + (parts.empty() ? x : parts.back()));
    const Tensor joined = cat(parts);
    parts.resize(1);
    backward(sum(joined));
    const double n = depth / 10;
    check(x.grad().item<double>() == n * (n + 1) + n, "the gradient is ", x.grad());
  });
}

TEST_CASE("threads with graphs of their own walk at the same time") {
  constexpr int threads = 4;
  std::vector<Tensor> leaves(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const Tensor x = full({64}, t, float64).requires_grad_();
      for (int round = 0; round < 50; ++round) {
        Tensor y = x;
        for (int i = 0; i < 20; ++i) y = tanh(y * 0.5) + x;
        backward(sum(y));
      }
      leaves[static_cast<size_t>(t)] = x;
    });
  }
  for (std::thread& thread : running) thread.join();
  for (int t = 0; t < threads; ++t) {
    const Tensor x = full({64}, t, float64).requires_grad_();
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = tanh(y * 0.5) + x;
    backward(sum(y));
    CHECK(distance(leaves[static_cast<size_t>(t)].grad(), x.grad() * 50) <= 1e-12);
  }
}

TEST_CASE("threads may take views of one leaf at the same time") {
  const Tensor x = ones({4}, float64).requires_grad_();
  std::vector<Tensor> parts(4);
  std::vector<std::thread> running;
  for (int t = 0; t < 4; ++t) {
    running.emplace_back([&, t] { parts[static_cast<size_t>(t)] = narrow(x, 0, t, 1) * (t + 1); });
  }
  for (std::thread& thread : running) thread.join();
  backward(sum(cat(parts)));
  CHECK(distance(x.grad(), arange(1, 5)) == 0);
}

TEST_CASE("one graph is not walked by two calls at the same time") {
  const Tensor x = ones({1}, float64).requires_grad_();
  Tensor y;
  std::string message;
  const int64_t id = register_post_accumulate_grad_hook(
      x, [&](const Tensor&) { message = message_of([&] { backward(y, {.retain_graph = true}); }); });
  y = sum(x * 2);
  backward(y, {.retain_graph = true});
  CHECK(message.find("is being walked by another call of backward") != std::string::npos);
  remove_hook(x, id);
  x.set_grad(Tensor());
  backward(y);
  CHECK(x.grad().item<double>() == 2);
}
