// N ranks with batch B do what one process does with batch N·B.
#include <tern/tests/distributed/ddp_cases.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

constexpr int64_t per_rank = 3;
const std::vector<int> sizes{1, 2, 3, 4, 7};

using Make = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)>;

const Make sgd = [](const std::vector<Tensor>& parameters) -> std::unique_ptr<optim::Optimizer> {
  return std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
};
const Make adamw = [](const std::vector<Tensor>& parameters) -> std::unique_ptr<optim::Optimizer> {
  return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions{.lr = 0.01});
};

// Steps of `micro` batches each, whose gradients add up; `guarded(i)` is what is there around all but the
// last of them.
template <class Model, class Guarded>
void train_steps(Model& model, const Make& make, int64_t rows, int64_t rank, int micro,
                 const Guarded& guarded) {
  const auto optimizer = make(model.parameters());
  for (int64_t step = 0; step < 4; ++step) {
    optimizer->zero_grad();
    for (int i = 0; i < micro; ++i) {
      const auto run = [&] { backward(loss_of(model, batch(step * micro + i, rank * rows, rows))); };
      if (i + 1 < micro)
        guarded(run);
      else
        run();
    }
    optim::clip_grad_norm_(model.parameters(), 1.0);
    optimizer->step();
  }
}

nn::Sequential trained_alone(const Make& make, int size, int micro) {
  nn::Sequential net = small_net();
  train_steps(net, make, size * per_rank, 0, micro, [](const auto& run) { run(); });
  return net;
}

void check_as_alone(const Make& make, const DdpOptions& options, int micro = 1) {
  for (const int size : sizes) {
    CAPTURE(size);
    const nn::Sequential alone = trained_alone(make, size, micro);
    run_ranks(size, [&](const Group& group) {
      DdpOptions own = options;
      own.process_group = group;
      nn::DistributedDataParallel model(small_net(group->rank() + 1), own);
      train_steps(model, make, per_rank, group->rank(), micro, [&](const auto& run) {
        const auto guard = model.no_sync();
        run();
      });
      CHECK(same_state(model.module, alone, 1e-6));
      CHECK(equal_on_all_ranks(model, group));
      if (size > 1) CHECK(model.reducer()->buckets().size() == (options.bucket_cap_mb < 1 ? 4 : 1));
    });
  }
}

}  // namespace

TEST_CASE("ranks train as one process would with all of their samples: SGD") {
  check_as_alone(sgd, {.bucket_cap_mb = tiny});
  check_as_alone(sgd, {});
}

TEST_CASE("ranks train as one process would with all of their samples: AdamW") {
  check_as_alone(adamw, {.bucket_cap_mb = tiny});
}

TEST_CASE("ranks train as one process would: gradients accumulated under no_sync") {
  check_as_alone(adamw, {.bucket_cap_mb = tiny}, 3);
}

TEST_CASE("ranks train as one process would: static_graph, find_unused_parameters with none unused") {
  check_as_alone(sgd, {.bucket_cap_mb = tiny, .static_graph = true}, 2);
  check_as_alone(sgd, {.bucket_cap_mb = tiny, .find_unused_parameters = true}, 2);
}

TEST_CASE("ranks train as one process would over either transport") {
  const nn::Sequential alone = trained_alone(sgd, 3, 2);
  run_both(3, 30s, [&](const Group& group) {
    nn::DistributedDataParallel model(small_net(), {.process_group = group, .bucket_cap_mb = tiny});
    train_steps(model, sgd, per_rank, group->rank(), 2, [&](const auto& run) {
      const auto guard = model.no_sync();
      run();
    });
    CHECK(same_state(model.module, alone, 1e-6));
  });
}

TEST_CASE("with uneven batches the loss is the mean of the ranks' means") {
  for (const int size : {2, 3, 4}) {
    nn::Sequential alone = small_net();
    const auto reference = sgd(alone.parameters());
    for (int64_t step = 0; step < 3; ++step) {
      reference->zero_grad();
      for (int rank = 0; rank < size; ++rank)
        backward(loss_of(alone, batch(step, rank * per_rank, 1 + (rank + step) % per_rank)) /
                 static_cast<double>(size));
      reference->step();
    }
    run_ranks(size, [&](const Group& group) {
      nn::DistributedDataParallel model(small_net(), {.process_group = group});
      const auto optimizer = sgd(model.parameters());
      for (int64_t step = 0; step < 3; ++step) {
        optimizer->zero_grad();
        backward(
            loss_of(model, batch(step, group->rank() * per_rank, 1 + (group->rank() + step) % per_rank)));
        optimizer->step();
      }
      CHECK(same_state(model.module, alone, 1e-6));
    });
  }
}

TEST_CASE("without clearing, and with gradients set to zeros, gradients add up as in one process") {
  nn::Sequential alone = small_net();
  for (int64_t step = 0; step < 3; ++step) backward(loss_of(alone, batch(step, 0, 2 * per_rank)));
  run_ranks(2, [&](const Group& group) {
    nn::DistributedDataParallel model(small_net(), {.process_group = group, .bucket_cap_mb = tiny});
    for (const Tensor& parameter : model.parameters()) parameter.set_grad(zeros_like(parameter.detach()));
    for (int64_t step = 0; step < 3; ++step)
      backward(loss_of(model, batch(step, group->rank() * per_rank, per_rank)));
    const auto want = alone.parameters(), got = model.parameters();
    for (size_t i = 0; i < want.size(); ++i) CHECK(distance(got[i].grad(), want[i].grad()) < 1e-12);
  });
}

TEST_CASE("hooks reduce the buckets: compressed to float16 and bfloat16, or a user's") {
  nn::Sequential alone = small_net();
  backward(loss_of(alone, batch(0, 0, 2 * per_rank)));
  const auto gradients = alone.parameters();
  const auto check_hook = [&](const nn::parallel::CommHook& hook, double tolerance) {
    run_both(2, [&](const Group& group) {
      nn::DistributedDataParallel model(small_net(), {.process_group = group, .bucket_cap_mb = tiny});
      model.register_comm_hook(hook);
      for (int step = 0; step < 2; ++step) {
        model.zero_grad();
        backward(loss_of(model, batch(0, group->rank() * per_rank, per_rank)));
        const auto got = model.parameters();
        for (size_t i = 0; i < got.size(); ++i)
          CHECK(distance(got[i].grad(), gradients[i].grad()) < tolerance);
      }
      CHECK(fails_with("there is a hook already", [&] { model.register_comm_hook(hook); }));
    });
  };
  check_hook(nn::parallel::allreduce_hook, 1e-12);
  check_hook(nn::parallel::fp16_compress_hook, 1e-3);
  check_hook(nn::parallel::bf16_compress_hook, 1e-2);
  check_hook(
      [](const nn::parallel::GradBucket& bucket, const Group& group) -> std::shared_ptr<Work> {
        CHECK((bucket.is_last || bucket.index < 3));
        CHECK(bucket.parameters[0].grad().data() == bucket.buffer.data());
        all_reduce(bucket.buffer, {.op = ReduceOp::avg, .group = group});
        return nullptr;
      },
      1e-12);
}

TEST_CASE("alone, a rank trains without buckets or checks, and in evaluation ranks are independent") {
  run_ranks(1, [&](const Group& group) {
    nn::DistributedDataParallel model(small_net(), {.process_group = group});
    CHECK(model.reducer()->buckets().empty());
    backward(sum(model(batch(0, 0, per_rank).first) * 0.0));
    CHECK(model.parameters()[0].grad().storage() != model.parameters()[1].grad().storage());
  });
  run_ranks(2, [&](const Group& group) {
    nn::Sequential net(nn::Linear(6, 4), nn::BatchNorm1d(4));
    nn::DistributedDataParallel model(net, {.process_group = group});
    if (group->rank() == 0) {
      const NoGradGuard no_grad;
      model(ones({3, 6}));
    } else {
      model.eval();
      model(ones({3, 6}));
      model.train();
    }
    CHECK(model.state_dict().begin()->first.starts_with("module."));
  });
}

TEST_CASE("buffers are rank 0's in each forward pass that trains") {
  run_both(2, [&](const Group& group) {
    for (const bool broadcasts : {true, false}) {
      nn::Sequential net(nn::Linear(6, 4), nn::BatchNorm1d(4));
      net.parameters()[0].set_data(scattered({4, 6}, -1, 1, float32));
      nn::DistributedDataParallel model(net, {.process_group = group, .broadcast_buffers = broadcasts});
      for (int step = 0; step < 2; ++step) {
        const Tensor x = to(narrow(batch(step, group->rank() * 8, 8).first, 0, 0, 8), float32);
        backward(mean(square(model(x)) * upstream({8, 4}, float32)));
      }
      const Tensor mean = clone(net.named_buffers()[0].second), first = clone(mean);
      broadcast(first, 0, {.group = group});
      CHECK((group->rank() == 0 || !bits_equal(mean, first)));  // the last step's own
      model(ones({2, 6}));
      CHECK(net.named_buffers()[2].second.item<int64_t>() == 3);
      const Tensor count = clone(mean);
      all_reduce(count, {.group = group});
      if (broadcasts) {
        const Tensor now = clone(net.named_buffers()[0].second), rank0 = clone(now);
        broadcast(rank0, 0, {.group = group});
        CHECK(bits_equal(now, rank0));
      }
    }
  });
}
