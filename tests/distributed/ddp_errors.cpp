// What goes wrong with DistributedDataParallel, and what every rank says then.
#include <tern/tests/distributed/ddp_cases.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

struct TwoHeads : nn::Layer<TwoHeads> {
  Tensor forward(const Tensor& x, bool both) { return both ? left(x) + right(x) : left(x); }
  void members(nn::Visitor& visitor) override {
    visitor.module("left", left);
    visitor.module("right", right);
  }
  nn::Linear left{3, 2}, right{3, 2};
};

}  // namespace

TEST_CASE("models that differ are an error on every rank that names the parameter") {
  run_both(3, 10s, [](const Group& group) {
    const bool odd = group->rank() == 1;
    CHECK(fails_with(
        "the ranks' models differ: rank 1 has 0.weight (float32, [5, 4], trained), rank 0 has "
        "0.weight (float32, [5, 3], trained)",
        [&] {
          nn::DistributedDataParallel(nn::Sequential(nn::Linear(odd ? 4 : 3, 5)), {.process_group = group});
        }));
    CHECK(fails_with("rank 1 has nothing more, rank 0 has 0.bias (float32, [5], trained)", [&] {
      nn::DistributedDataParallel(nn::Sequential(nn::Linear(3, 5, {.bias = !odd})), {.process_group = group});
    }));
    CHECK(fails_with("rank 1 has 0.weight (float64, [5, 3], trained)", [&] {
      nn::Sequential net(nn::Linear(3, 5));
      if (odd) net.to(float64);
      nn::DistributedDataParallel(net, {.process_group = group});
    }));
    CHECK(fails_with("rank 1 has 0.weight (float32, [5, 3], not trained)", [&] {
      nn::Sequential net(nn::Linear(3, 5));
      if (odd) net.parameters()[0].requires_grad_(false);
      nn::DistributedDataParallel(net, {.process_group = group});
    }));
    CHECK(fails_with("rank 1 has static_graph = 1, rank 0 has static_graph = 0", [&] {
      nn::DistributedDataParallel(nn::Linear(3, 5), {.process_group = group, .static_graph = odd});
    }));
    nn::DistributedDataParallel works(nn::Linear(3, 5), {.process_group = group});  // nothing is broken
    backward(sum(works(ones({2, 3}))));
  });
}

TEST_CASE("a parameter without a gradient is an error on every rank, at once") {
  for (const bool all : {false, true}) {
    run_both(3, 60s, [all](const Group& group) {
      nn::DistributedDataParallel model(TwoHeads(), {.process_group = group});
      backward(sum(model(ones({2, 3}), true)));
      model.zero_grad();
      const auto start = std::chrono::steady_clock::now();
      const std::string message = message_of([&] {
        backward(sum(model(ones({2, 3}), !all && group->rank() != 1)));
      });
      CHECK(contains(message, "gives no gradient to right.weight, right.bias: the loss does not depend"));
      if (!all) CHECK(contains(message, "backward on rank 1"));
      CHECK(std::chrono::steady_clock::now() - start < 20s);
    });
  }
}

TEST_CASE("static_graph: a backward that reaches other parameters is an error") {
  run_both(2, 30s, [](const Group& group) {
    nn::DistributedDataParallel model(TwoHeads(), {.process_group = group, .static_graph = true});
    backward(sum(model(ones({2, 3}), false)));
    CHECK(contains(message_of([&] {
                     backward(sum(model(ones({2, 3}), group->rank() == 1)));
                   }),
                   "static_graph, but on rank 1 backward reached other parameters than the first time: "
                   "right.weight, right.bias"));
  });
}

TEST_CASE("an exception in one rank's backward ends the others'") {
  run_both(2, 60s, [](const Group& group) {
    nn::DistributedDataParallel model(TwoHeads(), {.process_group = group, .bucket_cap_mb = tiny});
    const Tensor x = ones({2, 3});
    const auto run = [&](bool fails) {
      Tensor y = model(x, true);
      const Tensor z =
          record("breaks", x.detach() * 2.0, {model.module.left.weight}, [fails](const Tensor&) -> Gradients {
            check(!fails, "breaks: on purpose");
            return {Tensor()};
          });
      backward(sum(y) + sum(z));
    };
    run(false);
    CHECK(contains(message_of([&] { run(group->rank() == 1); }),
                   group->rank() == 1 ? "breaks: on purpose"
                                      : "DistributedDataParallel: backward on rank 1 ended by an exception"));
  });
}

TEST_CASE("a module that changes after it was wrapped is an error that names what") {
  run_ranks(2, [](const Group& group) {
    const Tensor x = ones({2, 3});
    {
      nn::DistributedDataParallel model(TwoHeads(), {.process_group = group});
      auto copy = clone(model);
      CHECK(fails_with("left.weight was replaced, or the module cloned", [&] { copy(x, true); }));
      auto shared = model;
      backward(sum(shared(x, true)));
      CHECK(model.module.left.weight.grad().defined());
      model.module.right.weight = ones({2, 3}).requires_grad_();
      CHECK(fails_with("right.weight was replaced", [&] { model(x, true); }));
    }
    {
      nn::DistributedDataParallel model(TwoHeads(), {.process_group = group});
      CHECK(fails_with("belongs to another DistributedDataParallel",
                       [&] { nn::DistributedDataParallel(model.module, {.process_group = group}); }));
      model.module.right.requires_grad_(false);
      CHECK(fails_with("right.weight was frozen after", [&] { model(x, true); }));
    }
    {
      nn::DistributedDataParallel model(TwoHeads(), {.process_group = group});
      model.to(float64);
      CHECK(fails_with("left.weight was float32 on cpu:0 when it was wrapped, and is float64",
                       [&] { model(to(x, float64), true); }));
    }
  });
}

TEST_CASE("modules and options that make no sense are refused") {
  run_ranks(2, [](const Group& group) {
    CHECK(fails_with("no parameter of the module requires a gradient",
                     [&] { nn::DistributedDataParallel(nn::ReLU(), {.process_group = group}); }));
    CHECK(fails_with("bucket_cap_mb must be above 0, got -1", [&] {
      nn::DistributedDataParallel(nn::Linear(2, 2), {.process_group = group, .bucket_cap_mb = -1});
    }));
    CHECK(fails_with("init_process_group", [&] { nn::DistributedDataParallel(nn::Linear(2, 2)); }));
    nn::DistributedDataParallel model(nn::Linear(2, 2), {.process_group = group});
    CHECK(fails_with("the hook is empty", [&] { model.register_comm_hook({}); }));
    backward(sum(model(ones({2, 2}))));
    CHECK(fails_with("before the first backward",
                     [&] { model.register_comm_hook(nn::parallel::fp16_compress_hook); }));
  });
}

TEST_CASE("wrapping again after the first wrapper is gone works") {
  run_ranks(2, [](const Group& group) {
    nn::Linear net(3, 2);
    for (int i = 0; i < 2; ++i) {
      nn::DistributedDataParallel model(net, {.process_group = group});
      backward(sum(model(ones({2, 3}))));
    }
    backward(sum(net(ones({2, 3}))));
    CHECK(values_of(net.bias.grad()) == std::vector<double>{6, 6});
  });
}
