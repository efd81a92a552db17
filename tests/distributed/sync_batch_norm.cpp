// SyncBatchNorm: ranks with parts of a batch against one process with all of it.
#include <tern/kernels/copy.h>
#include <tern/tern.h>
#include <tern/tests/distributed/run_ranks.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <sstream>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

using Sizes = std::vector<int64_t>;

// Rows of `x` that rank `rank` holds, when the ranks hold `sizes` of them one after another.
Tensor part_of(const Tensor& x, const Sizes& sizes, int rank) {
  int64_t begin = 0;
  for (int r = 0; r < rank; ++r) begin += sizes[static_cast<size_t>(r)];
  return narrow(x, 0, begin, sizes[static_cast<size_t>(rank)]);
}

// y, dx, dweight, dbias, running mean and variance of one training pass with upstream gradient dy.
template <class Norm>
std::vector<Tensor> pass(Norm& norm, const Tensor& x, const Tensor& dy) {
  const Tensor leaf = kernels::clone(x).requires_grad_();
  norm.zero_grad();
  const Tensor y = norm(leaf);
  backward(y, {.gradient = dy});
  return {y,
          leaf.grad(),
          norm.weight.grad(),
          norm.bias.grad(),
          kernels::clone(norm.running_mean),
          kernels::clone(norm.running_var)};
}

// A layer with weights that differ from channel to channel.
template <class Norm>
Norm with_weights(Norm norm, DType dtype = float64) {
  norm.to(dtype);
  kernels::copy(scattered(norm.weight.shape(), 0.5, 2, dtype), norm.weight.detach());
  kernels::copy(scattered(norm.bias.shape(), -1, 1, dtype), norm.bias.detach());
  return norm;
}

// Holds that ranks with these parts of x do what one process does, in two passes.
template <class Norm>
void check_parts(const Tensor& x, const Sizes& sizes, const Norm& model, double tolerance = 1e-12) {
  const Tensor dy = upstream(x.shape(), x.dtype());
  Norm alone = clone(model);
  const std::vector<std::vector<Tensor>> wanted{pass(alone, x, dy), pass(alone, x * 2.0, dy)};
  run_both(static_cast<int>(sizes.size()), [&](const Group& group) {
    Norm norm = nn::SyncBatchNorm::convert(clone(model), group);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Tensor all = i == 0 ? x : x * 2.0;
      const int rank = group->rank();
      std::vector<Tensor> got = pass(norm, part_of(all, sizes, rank), part_of(dy, sizes, rank));
      for (const size_t sum : {size_t{2}, size_t{3}}) all_reduce(got[sum], {.group = group});
      for (size_t what = 0; what < got.size(); ++what) {
        CAPTURE(what);
        CAPTURE(i);
        const Tensor& whole = wanted[i][what];
        CHECK(distance(got[what], what < 2 ? part_of(whole, sizes, rank) : whole) < tolerance);
      }
    }
  });
}

}  // namespace

TEST_CASE("ranks with parts of a batch, uneven and empty ones too, normalise as one process") {
  const auto images = with_weights(nn::BatchNorm2d(3));
  const auto rows = with_weights(nn::BatchNorm1d(3, {.momentum = std::nullopt}));
  for (const Sizes& sizes : std::vector<Sizes>{{5},
                                               {3, 3},
                                               {1, 1},
                                               {4, 0},
                                               {0, 2},
                                               {2, 5, 1},
                                               {0, 0, 3},
                                               {1, 1, 1, 1},
                                               {2, 0, 3, 1},
                                               {1, 2, 3, 0, 1, 1, 2}}) {
    CAPTURE(sizes.size());
    int64_t total = 0;
    for (const int64_t size : sizes) total += size;
    check_parts(scattered({total, 3, 2, 2}), sizes, images);
    check_parts(laid_out(scattered({total, 3, 2, 2}), Lay::channels_last), sizes, images);
    check_parts(scattered({total, 3}), sizes, rows);
  }
}

TEST_CASE("half types, and large means, are normalised over ranks as in one process") {
  const Tensor x = scattered({6, 3, 2, 2}, -2, 2, float32);
  check_parts(x, {1, 5}, with_weights(nn::BatchNorm2d(3), float32), 1e-5);
  check_parts(to(x, bfloat16), {4, 2}, with_weights(nn::BatchNorm2d(3), bfloat16), 2e-2);
  check_parts(to(x, float16), {4, 2}, with_weights(nn::BatchNorm2d(3), float16), 3e-3);
  run_both(2, [](const Group& group) {
    nn::SyncBatchNorm norm(1, {.process_group = group});
    const float first = group->rank() == 0 ? 40000.0F : 40002.0F;
    const Tensor y = norm(tensor({{first}, {first + 1}}));
    const Sizes halves{2, 2};
    CHECK(distance(y, part_of(tensor_of({-1.3416354, -0.4472118, 0.4472118, 1.3416354}, {4, 1}, float32),
                              halves, group->rank())) < 1e-6);
  });
}

TEST_CASE("one sample a rank is enough, and a rank may have none; a single value on all is too few") {
  run_both(2, [](const Group& group) {
    nn::SyncBatchNorm norm(1, {.process_group = group});
    const bool first = group->rank() == 0;
    const Tensor y = norm(tensor({{first ? 0.0F : 2.0F}}));
    CHECK(y.item<double>() == doctest::Approx(first ? -0.999995 : 0.999995).epsilon(1e-7));
    CHECK(norm.running_mean.item<double>() == doctest::Approx(0.1));
    CHECK(norm.running_var.item<double>() == doctest::Approx(0.9 + 0.1 * 2));

    const Tensor few = kernels::clone(norm.running_mean);
    CHECK(fails_with("needs more than one value per channel over all ranks, got input", [&] {
      norm(first ? ones({1, 1}) : empty({0, 1}));
    }));
    CHECK(equal(norm.running_mean, few));
    CHECK(norm.num_batches_tracked.item<int64_t>() == 1);
    const Tensor nothing = norm(empty({0, 1}));  // on no rank any
    CHECK(nothing.shape() == Shape{0, 1});
    CHECK(equal(norm.running_mean, few));

    norm.eval();  // ranks are independent then
    if (first) CHECK(norm(ones({1, 1})).numel() == 1);
  });
}

TEST_CASE("without running statistics evaluation uses the rank's own batch") {
  run_ranks(2, [](const Group& group) {
    nn::SyncBatchNorm norm(2, {.affine = false, .track_running_stats = false, .process_group = group});
    const Tensor x = scattered({3 + group->rank(), 2}, -2, 2, float32);
    norm.eval();
    CHECK(bits_equal(norm(x), batch_norm(x, {}, {}, {}, {}, {.training = true})));
  });
}

TEST_CASE("a pass sends one all_gather forward and one all_reduce backward, and that only for dx") {
  run_ranks(2, [](const Group& group) {
    nn::SyncBatchNorm norm(2, {.process_group = group});
    const auto calls = [&] {
      std::vector<std::string> names;
      for (const CallRecord& record : group->recent_calls()) names.emplace_back(record.call.operation);
      return names;
    };
    using Names = std::vector<std::string>;
    const Tensor x = scattered({3, 2}, -2, 2, float32);
    backward(sum(norm(x)));
    CHECK(calls() == Names{"all_gather_into_tensor"});
    backward(sum(norm(kernels::clone(x).requires_grad_())));
    CHECK(calls() == Names{"all_gather_into_tensor", "all_gather_into_tensor", "all_reduce"});
  });
}

TEST_CASE("convert synchronises every batch norm of a module, and its copies, in place") {
  run_ranks(2, [](const Group& group) {
    nn::Sequential net(nn::Conv2d(3, 4, 3), nn::BatchNorm2d(4, {.eps = 0.1, .momentum = 0.3}), nn::ReLU(),
                       nn::Sequential(nn::Flatten(), nn::BatchNorm1d(4)));
    nn::Sequential copied = net;
    const nn::Sequential cloned = clone(net);
    const TensorMap before = net.state_dict();
    const nn::Sequential converted = nn::SyncBatchNorm::convert_sync_batchnorm(net, group);
    for (const auto& [name, tensor] : converted.state_dict()) CHECK(tensor.is_same(before.at(name)));
    const auto text = [](const nn::Module& module) { return (std::ostringstream() << module).str(); };
    const std::string line =
        "(1): SyncBatchNorm(4, eps=0.1, momentum=0.3, affine=true, bias=true, "
        "track_running_stats=true)";
    for (const std::string& shown : {text(net), text(copied), text(converted), text(clone(net))}) {
      CHECK(shown.find(line) != std::string::npos);
      CHECK(shown.find("BatchNorm1d") == std::string::npos);
    }
    CHECK(text(cloned).find("Sync") == std::string::npos);
    // Layers still know which inputs are theirs.
    CHECK(fails_with("BatchNorm2d: input must be [N, C, H, W]", [&] {
      (*copied[1]).train(), copied[1](ones({2, 4}));
    }));
    converted.eval();
    CHECK(!(*net[1]).is_training());
    CHECK(group->recent_calls().empty());
  });
}

TEST_CASE("SyncBatchNorm alone, in a group of one and without any, is BatchNorm") {
  const Tensor x = scattered({4, 3, 5}, -2, 2, float32);
  nn::check_layer(nn::SyncBatchNorm(3), x);
  nn::check_layer(nn::SyncBatchNorm(3, {.momentum = std::nullopt, .bias = false}),
                  scattered({2, 3, 2, 2, 2}, -2, 2, float32));
  nn::BatchNorm1d plain(3);
  nn::SyncBatchNorm without(3), with(3, {.process_group = make_process_group("gloo", nullptr, 0, 1)});
  const Tensor y = plain(x);
  CHECK(bits_equal(without(x), y));
  CHECK(bits_equal(with(x), y));
  CHECK(bits_equal(with.running_var, plain.running_var));
  CHECK(nn::Sequential(with, nn::ReLU())[0].as<nn::SyncBatchNorm>() != nullptr);
  CHECK(fails_with("got input [1, 3]; use drop_last or eval()", [&] { with(ones({1, 3})); }));
  CHECK(fails_with("SyncBatchNorm: input must be [N, C, …], got [3]", [&] { with(ones({3})); }));
  CHECK(fails_with("SyncBatchNorm: needs 3 channels", [&] { with(ones({2, 4})); }));
}

TEST_CASE("data-parallel training with SyncBatchNorm and a sharded AdamW takes the steps of one process") {
  manual_seed(3);
  nn::Sequential start(nn::Linear(4, 6, {.bias = false}), nn::BatchNorm1d(6), nn::Tanh(), nn::Linear(6, 2));
  start.to(float64);
  const auto train = [](auto& model, optim::Optimizer& optimizer, const Tensor& x, const Tensor& target) {
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      backward(mse_loss(model(x), target));
      optimizer.step();
    }
  };
  for (const int ranks : {1, 2, 3, 4, 7}) {
    CAPTURE(ranks);
    const Tensor x = scattered({3 * ranks, 4}), target = scattered({3 * ranks, 2});
    nn::Sequential alone = clone(start);
    optim::AdamW reference(alone.parameters(), {.lr = 0.05});
    train(alone, reference, x, target);
    const TensorMap wanted = alone.state_dict();
    run_both(ranks, [&](const Group& group) {
      nn::Sequential net = nn::SyncBatchNorm::convert(clone(start), group);
      nn::DistributedDataParallel model(net, {.process_group = group});
      optim::ZeroRedundancyOptimizer<optim::AdamW> optimizer(net.parameters(), {.lr = 0.05},
                                                             {.process_group = group});
      const Sizes sizes(static_cast<size_t>(ranks), 3);
      train(model, optimizer, part_of(x, sizes, group->rank()), part_of(target, sizes, group->rank()));
      for (const auto& entry : net.state_dict()) {  // clang++ 14 captures no structured bindings
        const std::string& name = entry.first;
        const Tensor& tensor = entry.second;
        CAPTURE(name);
        CHECK(distance(tensor, wanted.at(name)) < 1e-10);
      }
    });
  }
}
