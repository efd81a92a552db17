// Ranks with different numbers of batches.
#include <tern/tests/distributed/ddp_cases.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

struct Factor : nn::Layer<Factor> {
  Tensor forward(const Tensor& x) { return weight * x; }
  void members(nn::Visitor& visitor) override { visitor.parameter("weight", weight); }
  Tensor weight = zeros({1}, float64).requires_grad_();
};

const std::vector<std::vector<double>> batches{{1, 2, 3}, {10, 20}};

// The weight after training with loss = weight * x.
double joined(const Group& group, const JoinOptions& options, int steps = 3) {
  nn::DistributedDataParallel model(Factor(), {.process_group = group});
  optim::SGD optimizer(model.parameters(), {.lr = 1});
  try {
    const Join join(model, options);
    for (const double x : batches[static_cast<size_t>(group->rank())]) {
      if (steps-- == 0) break;
      optimizer.zero_grad();
      backward(sum(model(full({1}, x, float64))));
      optimizer.step();
    }
  } catch (const Error& error) {
    CHECK(contains(error.what(), "rank 1 has no more inputs, and throw_on_early_termination is set"));
  }
  return model.module.weight.item<double>();
}

}  // namespace

TEST_CASE("a rank that is at the end counts as zero, or not at all, or ends all") {
  run_both(2, 30s, [](const Group& group) {
    CHECK(joined(group, {}) == -18);
    CHECK(joined(group, {.divide_by_initial_world_size = false}) == -19.5);
    CHECK(joined(group, {.throw_on_early_termination = true}) == -16.5);
    CHECK(joined(group, {}, 0) == 0);
    CHECK(joined(group, {.throw_on_early_termination = true}, 2) == -16.5);
    CHECK(joined(group, {.enable = false}, 2) == -16.5);
  });
}

TEST_CASE("rank 0 may have nothing at all, also before the first step and with buffers") {
  run_both(3, 30s, [](const Group& group) {
    for (const bool unused : {false, true}) {
      nn::Sequential net(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::Linear(8, 3));
      net.to(float64);
      nn::DistributedDataParallel model(
          net, {.process_group = group, .bucket_cap_mb = tiny, .find_unused_parameters = unused});
      optim::AdamW optimizer(model.parameters(), {.lr = 0.01});
      for (int epoch = 0; epoch < 2; ++epoch) {
        const Join join(model, {.optimizers = {&optimizer}});
        for (int64_t step = 0; step < 2 * group->rank(); ++step) {
          optimizer.zero_grad();
          backward(loss_of(model, batch(step, group->rank() * 4, 4)));
          optimizer.step();
        }
      }
      CHECK(equal_on_all_ranks(model, group));
      optimizer.zero_grad();
      backward(loss_of(model, batch(0, group->rank() * 4, 4)));
      optimizer.step();
      bool all = true;
      for (const auto& [name, tensor] : model.state_dict()) {
        if (tensor.dim() == 0 || !tensor.requires_grad())
          continue;  // buffers of the last step are each rank's
        const Tensor first = clone(tensor.detach());
        broadcast(first, 0, {.group = group});
        all &= bits_equal(first, tensor.detach());
      }
      CHECK(all);
    }
  });
}

TEST_CASE("a Join is one at a time, and an exception leaves its scope") {
  run_ranks(1, [](const Group& group) {
    nn::DistributedDataParallel model(Factor(), {.process_group = group});
    Join join(model);
    join.finish();
    join.finish();
  });
  run_ranks(2, [](const Group& group) {
    nn::DistributedDataParallel model(Factor(), {.process_group = group});
    CHECK(fails_with("on purpose", [&] {
      const Join join(model);
      CHECK(fails_with("there is one for this model already", [&] { Join other(model); }));
      throw Error("on purpose");
    }));
    CHECK_FALSE(model.reducer()->is_joining());
  });
}
