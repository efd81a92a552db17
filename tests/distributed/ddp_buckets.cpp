// Buckets: who lies where, in which order, and when they are reduced.
#include <tern/distributed/bucket_plan.h>
#include <tern/tests/distributed/ddp_cases.h>

#include <algorithm>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

// Uses its layers in another order than it lists them; `c` and `d` only when told to.
struct Branches : nn::Layer<Branches> {
  Branches() {
    to(float64);
    for (const Tensor& parameter : parameters()) parameter.set_data(scattered(parameter.shape()));
  }
  Tensor forward(const Tensor& x, bool with_c, bool with_d) {
    Tensor y = tanh(a(b(x)));
    if (with_c) y = y + c(x);
    if (with_d) y = y + d(x);
    return y;
  }
  void members(nn::Visitor& visitor) override {
    visitor.module("a", a);
    visitor.module("b", b);
    visitor.module("c", c);
    visitor.module("d", d);
  }
  nn::Linear a{6, 6}, b{6, 6}, c{6, 6}, d{6, 6};
};

}  // namespace

TEST_CASE("a bucket is full at its capacity, has one dtype, and the first is small") {
  std::vector<Tensor> tensors;
  for (const DType dtype : {float32, float32, float64, float32, float32, float32, float64})
    tensors.push_back(zeros({100}, dtype));
  using Plan = std::vector<std::vector<size_t>>;
  CHECK(nn::parallel::plan_buckets(tensors, {0, 1, 2, 3, 4, 5, 6}, 400, 1200) ==
        Plan{{0}, {1, 3, 4}, {5}, {2, 6}});
  CHECK(nn::parallel::plan_buckets(tensors, {6, 5, 4, 3, 2, 1, 0}, 1e9, 1e9) ==
        Plan{{6, 2}, {5, 4, 3, 1, 0}});
  CHECK(nn::parallel::plan_buckets(tensors, {}, 1, 1).empty());
}

TEST_CASE("the first backward shows the order of buckets, and rank 0's is everybody's") {
  using Names = std::vector<std::vector<std::string>>;
  run_both(2, [](const Group& group) {
    nn::DistributedDataParallel model(
        Branches(), {.process_group = group, .bucket_cap_mb = tiny, .find_unused_parameters = true});
    CHECK(model.reducer()->buckets()[0] == std::vector<std::string>{"d.bias", "d.weight"});
    backward(sum(model(ones({2, 6}, float64), true, group->rank() == 1)));
    const Names order = model.reducer()->buckets();
    std::string layers;
    for (const auto& bucket : order)
      for (const std::string& name : bucket) layers += name[0];
    CHECK(layers == "ccaabbdd");  // rank 0 did not use d
    model.zero_grad();
    backward(sum(model(ones({2, 6}, float64), true, true)));
    CHECK(model.reducer()->buckets() == order);
  });
}

TEST_CASE("gradients lie in buckets, also where somebody put them elsewhere") {
  run_ranks(2, [](const Group& group) {
    nn::DistributedDataParallel model(small_net(), {.process_group = group});
    for (int step = 0; step < 3; ++step) {
      for (const Tensor& parameter : model.parameters())
        parameter.set_grad(step == 1 ? ones_like(parameter.detach()) : Tensor());
      backward(loss_of(model, batch(step, 0, 4)));
      const Ref<Storage> storage = model.parameters()[0].grad().storage();
      for (const Tensor& parameter : model.parameters()) CHECK(parameter.grad().storage() == storage);
    }
  });
}

TEST_CASE("the first bucket's reduction starts before the last gradient is computed") {
  run_both(2, [](const Group& group) {
    nn::Sequential net = small_net();
    nn::DistributedDataParallel model(net, {.process_group = group, .bucket_cap_mb = tiny});
    std::vector<int64_t> started;
    bool is_last_done = false;
    int64_t before_last = 0;
    model.register_comm_hook([&](const nn::parallel::GradBucket& bucket, const Group& among) {
      started.push_back(bucket.index);
      if (!is_last_done) ++before_last;
      return nn::parallel::allreduce_hook(bucket, among);
    });
    register_post_accumulate_grad_hook(net.parameters()[0], [&](const Tensor&) { is_last_done = true; });
    for (int step = 0; step < 2; ++step) {
      started.clear();
      before_last = 0;
      is_last_done = false;
      const size_t buckets = model.reducer()->buckets().size();
      backward(loss_of(model, batch(step, 0, 4)));
      CHECK(started.size() == buckets);
      CHECK(std::is_sorted(started.begin(), started.end()));
      CHECK(before_last >= 2);
    }
  });
}

TEST_CASE("unused parameters: absent where no rank used them, shared where one did") {
  const Tensor x = scattered({4, 6});
  for (const bool is_static : {false, true}) {
    Branches alone;
    backward(sum(alone(narrow(x, 0, 0, 2), false, false)) / 2.0);
    backward(sum(alone(narrow(x, 0, 2, 2), true, false)) / 2.0);
    run_both(2, [&](const Group& group) {
      nn::DistributedDataParallel model(Branches(), {.process_group = group,
                                                     .bucket_cap_mb = tiny,
                                                     .find_unused_parameters = !is_static,
                                                     .static_graph = is_static});
      for (int step = 0; step < 3; ++step) {
        model.zero_grad();
        backward(sum(model(narrow(x, 0, 2 * group->rank(), 2), group->rank() == 1, false)));
        const auto want = alone.parameters(), got = model.parameters();
        for (size_t i = 0; i < want.size(); ++i) {
          REQUIRE(got[i].grad().defined() == want[i].grad().defined());
          if (want[i].grad().defined()) CHECK(distance(got[i].grad(), want[i].grad()) < 1e-12);
        }
      }
    });
  }
}

TEST_CASE("what a parameter gathered under no_sync is reduced although the last backward does not use it") {
  const Tensor x = scattered({4, 6});
  Branches alone;
  for (const bool with_c : {true, false}) backward(sum(alone(x, with_c, false)) / 2.0);
  run_ranks(2, [&](const Group& group) {
    nn::DistributedDataParallel model(Branches(), {.process_group = group, .find_unused_parameters = true});
    const Tensor own = narrow(x, 0, 2 * group->rank(), 2);
    {
      const auto guard = model.no_sync();
      backward(sum(model(own, true, false)));
    }
    backward(sum(model(own, false, false)));
    const auto want = alone.parameters(), got = model.parameters();
    for (size_t i = 0; i < 6; ++i) CHECK(distance(got[i].grad(), want[i].grad()) < 1e-12);
  });
}

TEST_CASE("several dtypes, frozen parameters and tied weights") {
  struct Mixed : nn::Layer<Mixed> {
    Mixed() { last.weight = first.weight; }
    Tensor forward(const Tensor& x) {
      const Tensor y = last(frozen(first(x)));
      return tern::to(y, float64) * scale;
    }
    void members(nn::Visitor& visitor) override {
      visitor.module("first", first);
      visitor.module("frozen", frozen);
      visitor.module("last", last);
      visitor.parameter("scale", scale);
    }
    nn::Linear first{6, 6}, frozen{6, 6}, last{6, 6};
    Tensor scale = full({6}, 2, float64).requires_grad_();
  };
  Mixed alone;
  alone.frozen.requires_grad_(false);
  const Mixed start = clone(alone);
  const Tensor x = scattered({4, 6}, -1, 1, float32);
  for (int step = 0; step < 2; ++step) backward(mean(square(alone(x))));
  run_ranks(2, [&](const Group& group) {
    nn::DistributedDataParallel model(clone(start), {.process_group = group});
    for (int step = 0; step < 2; ++step) backward(mean(square(model(narrow(x, 0, 2 * group->rank(), 2)))));
    CHECK(model.reducer()->buckets().size() == 2);
    CHECK(model.module.first.weight.is_same(model.module.last.weight));
    const auto want = alone.parameters(), got = model.parameters();
    for (size_t i = 0; i < want.size(); ++i) {
      REQUIRE(got[i].grad().defined() == want[i].grad().defined());
      if (want[i].grad().defined()) CHECK(distance(got[i].grad(), want[i].grad()) < 1e-6);
    }
  });
}

TEST_CASE("a state that is loaded in the middle trains on as one that was there from the start") {
  run_both(2, [](const Group& group) {
    nn::Sequential net = small_net();
    nn::DistributedDataParallel model(net, {.process_group = group, .bucket_cap_mb = tiny});
    optim::SGD optimizer(model.parameters(), {.lr = 0.1});
    const auto train = [&](auto& trained, optim::SGD& own) {
      for (int64_t step = 0; step < 3; ++step) {
        own.zero_grad();
        backward(loss_of(trained, batch(step, group->rank() * 4, 4)));
        own.step();
      }
    };
    train(model, optimizer);
    const nn::Sequential saved = small_net(0.5);
    model.module.load_state_dict(saved.state_dict());
    train(model, optimizer);
    CHECK(equal_on_all_ranks(model, group));
    nn::DistributedDataParallel fresh(small_net(0.5), {.process_group = group, .bucket_cap_mb = tiny});
    optim::SGD other(fresh.parameters(), {.lr = 0.1});
    train(fresh, other);
    CHECK(same_state(model, fresh, 0));
  });
}

TEST_CASE("a checkpoint inside, and two backwards of one forward, are reduced as any other") {
  run_ranks(2, [](const Group& group) {
    nn::Sequential alone = small_net();
    nn::DistributedDataParallel model(small_net(), {.process_group = group, .bucket_cap_mb = tiny});
    for (int step = 0; step < 2; ++step) {
      backward(loss_of(alone, batch(step, 0, 8)), {.retain_graph = false});
      const Tensor loss = checkpoint(
          [&](const Tensor& x) { return mse_loss(model(x), batch(step, group->rank() * 4, 4).second); },
          batch(step, group->rank() * 4, 4).first);
      backward(loss * 0.5, {.retain_graph = true});
      backward(loss * 0.5);
    }
    const auto want = alone.parameters(), got = model.parameters();
    for (size_t i = 0; i < want.size(); ++i) CHECK(distance(got[i].grad(), want[i].grad()) < 1e-12);
  });
}
