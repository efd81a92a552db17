#include <tern/tests/distributed/devices.h>

#include <atomic>
#include <set>
#include <thread>

using namespace tern;
using namespace tern::tests;
using nn::parallel::parallel_apply;
using nn::parallel::replicate;

namespace {

// What a thread finds when it runs the module.
struct Seen {
  bool grad, anomaly, recomputing;
  std::thread::id thread;
};

struct Look : nn::Layer<Look> {
  std::vector<Seen> forward(int) {
    return {{is_grad_enabled(), is_anomaly_detected(), is_recomputing(), std::this_thread::get_id()}};
  }
};

struct Fails : nn::Layer<Fails> {
  int forward(int number) {
    if (number == 1) throw IoError("there is no file");
    if (number == 2) throw std::runtime_error("and no hope");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return ++*ended;
  }
  std::shared_ptr<std::atomic<int>> ended = std::make_shared<std::atomic<int>>(0);
};

using Ints = std::vector<std::tuple<int>>;

}  // namespace

TEST_CASE("modules run at the same time on threads of their own, in the caller's modes") {
  std::vector<Look> modules(3);
  for (const bool on : {false, true}) {
    const GradModeGuard grad(on);
    const AnomalyGuard anomaly(!on);
    const RecomputingGuard recomputing(on);
    std::set<std::thread::id> threads;
    for (const auto& seen : parallel_apply(modules, Ints{{0}, {1}, {2}}, cpus(3))) {
      CHECK(seen[0].grad == on);
      CHECK(seen[0].anomaly == !on);
      CHECK(seen[0].recomputing == on);
      threads.insert(seen[0].thread);
    }
    CHECK(threads.size() == 3);
  }
}

TEST_CASE("an exception of a module comes out with its device when all have ended") {
  Fails module;
  std::vector<Fails> modules(4, module);
  const auto run = [&](int a, int b, int c) { parallel_apply(modules, Ints{{0}, {a}, {b}, {c}}, cpus(4)); };
  CHECK(fails_with("parallel_apply: replica 1 on cpu:1: Fails(): there is no file", [&] { run(1, 2, 0); }));
  CHECK(*module.ended == 2);
  CHECK_THROWS_AS(run(1, 0, 0), IoError);
  CHECK(fails_with("parallel_apply: replica 3 on cpu:3: and no hope", [&] { run(0, 0, 2); }));
}

TEST_CASE("replicas compute what the module computes, each on its device, and train it") {
  nn::Linear linear(3, 2);
  linear.to(float64);
  const Tensor x = scattered({4, 3});
  auto replicas = replicate(linear, cpus(3));
  std::vector<Tensor> inputs;
  for (const Device device : cpus(3)) inputs.push_back(to(x, device));
  const auto outputs = parallel_apply(replicas, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    CHECK(outputs[i].device() == cpus(3)[i]);
    CHECK(bits_equal(to(outputs[i], Device()), linear(x)));
  }
  CHECK(replicas[0].weight.is_same(linear.weight));
  CHECK_FALSE(replicas[1].weight.is_leaf());
  const Tensor joined = nn::parallel::gather(outputs, Device());
  backward(sum(joined));
  backward(sum(linear(x)) * -3.0);
  for (const Tensor& parameter : linear.parameters()) {
    CHECK(parameter.grad().device() == Device());
    CHECK(distance(parameter.grad(), zeros_like(parameter)) < 1e-12);
  }
}

TEST_CASE("a replica that gets an input on another device says so") {
  nn::Linear linear(3, 2);
  auto replicas = replicate(linear, cpus(2));
  const std::string message = message_of([&] {
    parallel_apply(replicas, std::vector{zeros({1, 3}), zeros({1, 3})}, cpus(2));
  });
  CHECK(message.find("replica 1 on cpu:1: ") != std::string::npos);
  CHECK(message.find("tensors must be on one device") != std::string::npos);
}

TEST_CASE("a frozen module and no_grad give replicas without a past") {
  nn::Linear linear(3, 2);
  {
    const NoGradGuard no_grad;
    CHECK_FALSE(replicate(linear, cpus(2))[1].weight.requires_grad());
  }
  CHECK(replicate(linear, cpus(2))[1].weight.requires_grad());
  linear.requires_grad_(false);
  CHECK_FALSE(replicate(linear, cpus(2))[1].weight.requires_grad());
}

TEST_CASE("wrong numbers of modules, inputs and devices, and modules that share members, are errors") {
  std::vector<Look> modules(2), none;
  CHECK(fails_with("got 2 modules, 1 inputs and 1 devices", [&] { parallel_apply(modules, Ints{{0}}); }));
  CHECK(fails_with("got 2 modules, 2 inputs and 3 devices", [&] {
    parallel_apply(modules, Ints{{0}, {1}}, cpus(3));
  }));
  CHECK(fails_with("got 0 modules", [&] { parallel_apply(none, Ints{}); }));
  CHECK(fails_with("replicate: needs at least one device", [] { replicate(nn::Linear(2, 2), {}); }));
  CHECK(fails_with("replicate: device cpu:0 is there twice", [] {
    replicate(nn::Linear(2, 2), {Device(), Device()});
  }));
  struct Pointing : nn::Layer<Pointing> {
    void members(nn::Visitor& visitor) override { visitor.module("inner", *inner); }
    std::shared_ptr<nn::Linear> inner = std::make_shared<nn::Linear>(2, 2);
  };
  CHECK(fails_with("modules must hold their members by value", [] { replicate(Pointing(), cpus(2)); }));
  struct Further : nn::Linear {
    Further() : nn::Linear(2, 2) {}
  };
  CHECK(fails_with("a module must derive from Layer<Itself>", [] { replicate(Further(), cpus(2)); }));
}
