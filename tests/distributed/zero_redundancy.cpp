// ZeroRedundancyOptimizer against the optimizer without sharing: weights, states, clipping.
#include <tern/kernels/copy.h>
#include <tern/tern.h>
#include <tern/tests/data/data_testing.h>
#include <tern/tests/distributed/run_ranks.h>
#include <tern/tests/support/layouts.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

// Parameters of several sizes and two dtypes; one never gets a gradient.
std::vector<Tensor> parameters() {
  std::vector<Tensor> list{scattered({3, 5}), scattered({7}),    scattered({2, 2, 2}),
                           scattered({1}),    scattered({4, 6}), scattered({})};
  list.push_back(scattered({9}, -1, 1, float32));
  list.push_back(transpose(scattered({4, 3}), 0, 1));
  for (Tensor& x : list) x = x.detach().requires_grad_();
  return list;
}

void set_gradients(const std::vector<Tensor>& list, int step) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i == 1) continue;
    const Tensor gradient = upstream(list[i].shape(), list[i].dtype());
    list[i].set_grad(gradient * (1.0 + 0.3 * step + static_cast<double>(i)));
  }
}

template <class Optimizer>
void take_steps(Optimizer& optimizer, const std::vector<Tensor>& list, int first, int last) {
  for (int step = first; step < last; ++step) {
    set_gradients(list, step);
    optim::clip_grad_norm_(list, 2);
    optimizer.step();
  }
}

bool all_bits_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!bits_equal(a[i].detach(), b[i].detach())) return false;
  }
  return true;
}

bool same_state(const TensorMap& a, const TensorMap& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !bits_equal(tensor, b.at(name))) return false;
  }
  return true;
}

TensorMap copied(TensorMap state) {
  for (auto& [name, tensor] : state) tensor = kernels::clone(tensor);
  return state;
}

// Holds that sharing changes no bit, for any number of ranks, and that a saved state goes on anywhere.
template <class Base>
void check_sharing(const typename Base::GroupOptions& options) {
  const std::vector<Tensor> wanted = parameters();
  Base alone(wanted, options);
  take_steps(alone, wanted, 0, 3);
  const TensorMap saved = copied(alone.state_dict());
  std::vector<Tensor> middle;
  for (const Tensor& x : wanted) middle.push_back(kernels::clone(x.detach()));
  take_steps(alone, wanted, 3, 5);
  const TensorMap last = alone.state_dict();
  for (const int ranks : {1, 2, 3, 4, 7, 11}) {
    CAPTURE(ranks);
    run_ranks(ranks, [&](const Group& group) {
      const std::vector<Tensor> list = parameters();
      optim::ZeroRedundancyOptimizer<Base> optimizer(list, options, {.process_group = group});
      take_steps(optimizer, list, 0, 3);
      CHECK(all_bits_equal(list, middle));
      optimizer.consolidate_state_dict();
      if (group->rank() == 0) CHECK(same_state(optimizer.state_dict(), saved));
      take_steps(optimizer, list, 3, 5);
      CHECK(all_bits_equal(list, wanted));
      optimizer.consolidate_state_dict(ranks - 1);
      if (group->rank() == ranks - 1) CHECK(same_state(optimizer.state_dict(), last));

      // From the state that another number of ranks saved.
      const std::vector<Tensor> again = parameters();
      for (size_t i = 0; i < again.size(); ++i) kernels::copy(middle[i], again[i].detach());
      optim::ZeroRedundancyOptimizer<Base> resumed(again, {}, {.process_group = group});
      resumed.load_state_dict(saved);
      take_steps(resumed, again, 3, 5);
      CHECK(all_bits_equal(again, wanted));
    });
  }
}

}  // namespace

TEST_CASE("an optimizer shared among ranks gives the same bits as one that is not") {
  check_sharing<optim::AdamW>({.lr = 0.1, .weight_decay = 0.1, .amsgrad = true});
  check_sharing<optim::SGD>({.lr = 0.1, .momentum = 0.9, .nesterov = true});
  check_sharing<optim::Adagrad>({.lr = 0.1});
  check_sharing<optim::RMSprop>({.lr = 0.01, .momentum = 0.5, .centered = true});
  check_sharing<optim::Lion>({.lr = 0.01});
}

TEST_CASE("each parameter has one owner, and the state is shared out evenly") {
  run_ranks(3, [](const Group& group) {
    std::vector<Tensor> list;
    for (const int64_t size : {10, 20, 30, 40, 50, 60}) list.push_back(zeros({size}).requires_grad_());
    optim::ZeroRedundancyOptimizer<optim::AdamW> optimizer(list, {}, {.process_group = group});
    int64_t own = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const Tensor owners = full({}, optimizer.owns(i) ? 1 : 0, int64);
      all_reduce(owners, {.group = group});
      CHECK(owners.item<int64_t>() == 1);
      own += optimizer.owns(i) ? list[i].numel() : 0;
    }
    CHECK(own == 70);
  });
}

TEST_CASE("state of other ranks' parameters is not kept, and a part of the state is not given as a whole") {
  run_ranks(2, [](const Group& group) {
    struct Optimizer : optim::ZeroRedundancyOptimizer<optim::AdamW> {
      using ZeroRedundancyOptimizer::ZeroRedundancyOptimizer;
      TensorMap kept() const {
        return optim::AdamW::state_dict();  // NOLINT(bugprone-parent-virtual-call): what it overrides
      }
    };
    const std::vector<Tensor> list = parameters();
    Optimizer optimizer(list, {}, {.process_group = group});
    const auto others = [&] {
      size_t count = 0;
      for (const auto& [name, tensor] : optimizer.kept()) {
        if (name.starts_with("state.") && !optimizer.owns(static_cast<size_t>(name[6] - '0'))) ++count;
      }
      return count;
    };
    const std::string refusal = "all ranks call consolidate_state_dict() first";
    take_steps(optimizer, list, 0, 1);
    CHECK(others() == 0);
    CHECK(fails_with(refusal, [&] { optimizer.state_dict(); }));
    optimizer.consolidate_state_dict(1);
    if (group->rank() == 0) CHECK(fails_with(refusal, [&] { optimizer.state_dict(); }));
    if (group->rank() == 1) {
      CHECK(others() > 0);
      const TensorMap whole = optimizer.state_dict();
      optimizer.load_state_dict(whole);
      CHECK(others() == 0);
    }
    take_steps(optimizer, list, 1, 2);
    CHECK(others() == 0);
    CHECK(fails_with(refusal, [&] { optimizer.state_dict(); }));
  });
}

TEST_CASE("groups of parameters keep their options when an optimizer is shared") {
  const std::vector<Tensor> wanted = parameters();
  const auto groups_of = [](const std::vector<Tensor>& list) {
    return std::vector<optim::ParamGroup<optim::SGDOptions>>{
        {{list.begin(), list.begin() + 3}, {.lr = 0.5}},
        {{list.begin() + 3, list.end()}, {.lr = 0.1, .momentum = 0.9}}};
  };
  optim::SGD alone(groups_of(wanted));
  alone.set_lr(0.2, 1);
  take_steps(alone, wanted, 0, 3);
  run_ranks(2, [&](const Group& group) {
    const std::vector<Tensor> list = parameters();
    optim::ZeroRedundancyOptimizer<optim::SGD> optimizer(groups_of(list), {.process_group = group});
    CHECK(optimizer.num_groups() == 2);
    optimizer.set_lr(0.2, 1);
    take_steps(optimizer, list, 0, 3);
    CHECK(all_bits_equal(list, wanted));
    CHECK(fails_with("rank 5 is not in group", [&] { optimizer.consolidate_state_dict(5); }));
  });
  CHECK(fails_with("init_process_group was not called",
                   [&] { optim::ZeroRedundancyOptimizer<optim::SGD> optimizer(parameters()); }));
}

TEST_CASE("a sharded optimizer of different parameters is an error on every rank") {
  run_ranks(2, [](const Group& group) {
    const std::vector<Tensor> list{ones({2}).requires_grad_(), ones({3 + group->rank()}).requires_grad_()};
    const auto make = [&] {
      optim::ZeroRedundancyOptimizer<optim::SGD> optimizer(list, {.lr = 0.1}, {.process_group = group});
    };
    CHECK(fails_with("parameters differ: rank 1 has a parameter [4] of float32, rank 0 has a parameter [3]",
                     make));
  });
}

TEST_CASE("a checkpoint of a shared optimizer continues on another number of ranks") {
  const TempFolder folder;
  const std::string path = folder / "run.safetensors";
  const auto make = [] {
    manual_seed(5);
    nn::Sequential net(nn::Linear(4, 6), nn::Tanh(), nn::Linear(6, 2));
    net.to(float64);
    return net;
  };
  const nn::Sequential start = make();
  const Tensor x = scattered({6, 4}), target = scattered({6, 2});
  const auto train = [&](nn::Sequential& net, optim::Optimizer& optimizer, int steps) {
    for (int step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      backward(mse_loss(net(x), target));
      optimizer.step();
    }
  };
  nn::Sequential alone = clone(start);
  optim::AdamW reference(alone.parameters(), {.lr = 0.05});
  train(alone, reference, 6);
  run_ranks(3, [&](const Group& group) {
    nn::Sequential net = clone(start);
    optim::ZeroRedundancyOptimizer<optim::AdamW> optimizer(net.parameters(), {.lr = 0.05},
                                                           {.process_group = group});
    train(net, optimizer, 3);
    optimizer.consolidate_state_dict();
    if (group->rank() == 0) train::save_checkpoint(path, net, optimizer, {});
  });
  run_ranks(2, [&](const Group& group) {
    nn::Sequential net = clone(start);
    optim::ZeroRedundancyOptimizer<optim::AdamW> optimizer(net.parameters(), {}, {.process_group = group});
    train::load_checkpoint(path, net, optimizer);
    train(net, optimizer, 3);
    CHECK(all_bits_equal(net.parameters(), alone.parameters()));
  });
}

TEST_CASE("a run's state, sharded or not, goes on with the same bits on any number of ranks") {
  const TempFolder folder;
  const auto steps = [](const Group& group, int first, int last, const auto& use) {
    const std::vector<Tensor> list = parameters();
    optim::ZeroRedundancyOptimizer<optim::AdamW> optimizer(list, {.lr = 0.05}, {.process_group = group});
    struct Weights {
      const std::vector<Tensor>& list;
      TensorMap state_dict() const {
        TensorMap state;
        for (size_t i = 0; i < list.size(); ++i) state[std::to_string(i)] = list[i].detach();
        return state;
      }
      void load_state_dict(const TensorMap& state) {
        for (size_t i = 0; i < list.size(); ++i) kernels::copy(state.at(std::to_string(i)), list[i].detach());
      }
    } weights{list};
    const std::vector<train::StatePart> parts{{"weights", weights}, {"optimizer", optimizer}};
    use(parts, false);
    take_steps(optimizer, list, first, last);
    use(parts, true);
    return copied(weights.state_dict());
  };
  TensorMap wanted;
  run_ranks(1, [&](const Group& group) { wanted = steps(group, 0, 5, [](const auto&, bool) {}); });
  for (const bool sharded : {false, true}) {
    const std::string path = folder / (sharded ? "sharded" : "whole");
    run_ranks(3, [&](const Group& group) {
      steps(group, 0, 3, [&](const auto& parts, bool after) {
        if (after) train::save_state(path, 3, parts, {.sharded = sharded, .process_group = group});
      });
    });
    for (const int ranks : {1, 2, 3, 4}) {
      run_ranks(ranks, [&](const Group& group) {
        const TensorMap end = steps(group, 3, 5, [&](const auto& parts, bool after) {
          if (!after) train::load_state(path, parts, {.process_group = group});
        });
        CHECK(same_state(end, wanted));
      });
    }
  }
}
