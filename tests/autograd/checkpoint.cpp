#include <tern/autograd/backward.h>
#include <tern/autograd/checkpoint.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/grad_mode.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/thread_modes.h>
#include <tern/autograd/views.h>
#include <tern/core/allocator.h>
#include <tern/core/random.h>
#include <tern/kernels/creation.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/normalization.h>
#include <tern/nn/sequential.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <initializer_list>
#include <thread>

using namespace tern;
using namespace tern::tests;

namespace {

Tensor leaf(const Shape& shape) { return scattered(shape).requires_grad_(); }

// The loss and all gradients of a net whose middle is run by `middle`.
template <class Middle>
std::vector<Tensor> trained(Middle middle) {
  manual_seed(3);
  nn::Linear first(6, 8), last(8, 2);
  nn::Sequential block(nn::Linear(8, 8), nn::Tanh(), nn::Dropout(0.5), nn::Linear(8, 8));
  const Tensor x = scattered({5, 6}, -2, 2, float32).requires_grad_();
  const Tensor loss = sum(last(middle(block, first(x))) * 0.5);
  backward(loss);
  std::vector<Tensor> results{loss.detach(), x.grad(), rand({3})};
  for (const Tensor& p : first.parameters()) results.push_back(p.grad());
  for (const Tensor& p : block.parameters()) results.push_back(p.grad());
  for (const Tensor& p : last.parameters()) results.push_back(p.grad());
  return results;
}

}  // namespace

TEST_CASE("a checkpoint changes no bit of loss, gradients and the random numbers that follow") {
  const auto plain = trained([](nn::Sequential& block, const Tensor& x) { return block(x); });
  const auto kept = trained([](nn::Sequential& block, const Tensor& x) {
    return checkpoint([&block](const Tensor& t) { return block(t); }, x);
  });
  const auto nested = trained([](nn::Sequential& block, const Tensor& x) {
    const auto inner = [&block](const Tensor& t) { return block(t); };
    return checkpoint([inner](const Tensor& t) { return checkpoint(inner, t); }, x);
  });
  REQUIRE(plain.size() == kept.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    CHECK(bits_equal(plain[i], kept[i]));
    CHECK(bits_equal(plain[i], nested[i]));
  }
}

TEST_CASE(
    "what a checkpoint's function captures gets its gradient: parameters and results of earlier operations") {
  const Tensor x = leaf({4}), w = leaf({4}), early = w * 3;
  backward(sum(checkpoint([&](const Tensor& t) { return t * early * w + early; }, x)));
  const Tensor x2 = x.detach().requires_grad_(), w2 = w.detach().requires_grad_(), early2 = w2 * 3;
  backward(sum(x2 * early2 * w2 + early2));
  CHECK(distance(x.grad(), x2.grad()) < 1e-14);
  CHECK(distance(w.grad(), w2.grad()) < 1e-14);
}

TEST_CASE("a checkpoint keeps only its inputs until backward") {
  const Tensor x = scattered({1000, 1000}, -2, 2, float32).requires_grad_();
  const auto chain = [](const Tensor& t) {
    Tensor y = t;
    for (int i = 0; i < 10; ++i) y = tanh(y);
    return y;
  };
  const int64_t before = memory_statistics().allocated;
  const Tensor y = checkpoint(chain, x);
  CHECK(memory_statistics().allocated - before < 5'000'000);  // the result alone
  backward(sum(y));
  const Tensor x2 = x.detach().requires_grad_();
  backward(sum(chain(x2)));
  CHECK(bits_equal(x.grad(), x2.grad()));
}

TEST_CASE("several inputs, some without gradient, frozen parameters, and hooks called once") {
  const Tensor a = leaf({3}), b = scattered({3}), w = leaf({3});
  int calls = 0;
  register_post_accumulate_grad_hook(w, [&](const Tensor&) { ++calls; });
  const auto f = [&](const Tensor& s, const Tensor& t) { return s * t * w; };
  backward(sum(checkpoint(f, a, b) + w));
  CHECK(calls == 1);
  CHECK(bits_equal(a.grad(), b * w.detach()));
  CHECK(distance(w.grad(), a.detach() * b + 1) < 1e-14);
  const Tensor only = grad(sum(checkpoint(f, a, b)), {a})[0];
  CHECK(bits_equal(only, a.grad()));
}

TEST_CASE("checkpoints of nothing to record, of the identity and of a view") {
  const Tensor x = leaf({2, 3});
  {
    const NoGradGuard off;
    CHECK_FALSE(checkpoint([](const Tensor& t) { return t * 2; }, x).requires_grad());
  }
  const Tensor plain = scattered({2, 3});
  CHECK_FALSE(checkpoint([](const Tensor& t) { return t * 2; }, plain).requires_grad());
  const Tensor same = checkpoint([](const Tensor& t) { return t; }, x);
  add_(same, 1);  // does not reach x
  backward(sum(same * 2));
  CHECK(bits_equal(x.grad(), full({2, 3}, 2, float64)));
  CHECK(bits_equal(x.detach(), plain));
  x.set_grad(Tensor());
  backward(sum(checkpoint([](const Tensor& t) { return transpose(t, 0, 1); }, x)));
  CHECK(bits_equal(x.grad(), ones({2, 3}, float64)));
}

TEST_CASE("a checkpoint's function knows its second run, and errors of both runs reach the caller") {
  const Tensor x = leaf({3});
  std::vector<bool> seen;
  backward(sum(checkpoint(
      [&](const Tensor& t) {
        seen.push_back(is_recomputing());
        return t * 2;
      },
      x)));
  CHECK(seen == std::vector<bool>{false, true});
  CHECK_FALSE(is_recomputing());
  int run = 0;
  const Tensor y = checkpoint([&](const Tensor& t) { return run++ ? slice(t, 0, 0, 2) : t * 2; }, x);
  CHECK(fails_with("checkpoint: ", [&] { backward(sum(y)); }));
  CHECK(fails_with("checkpoint: ", [&] { checkpoint([](const Tensor&) { return Tensor(); }, x); }));
  const Tensor changed = x * 1.0, z = checkpoint([](const Tensor&t) { return t * t; }, changed);
  add_(changed, 1);
  CHECK(fails_with("checkpoint: ", [&] { backward(sum(z)); }));
}

TEST_CASE("a checkpoint replays every generator that its function draws from, nested and on other threads") {
  Generator own;
  const Tensor x = ones({64}).requires_grad_();
  const auto f = [&](const Tensor& t) { return dropout(dropout(t, 0.5, true, &own), 0.5); };
  const auto elsewhere = [&](const Tensor& t) {
    Tensor y;
    const ThreadModes modes;
    std::thread([&] {
      const ThreadModesGuard guard(modes);
      y = f(t);
    }).join();
    return y;
  };
  for (const CheckpointFunction& once :
       std::initializer_list<CheckpointFunction>{[&](const auto& list) { return f(list[0]); },
                                                 [&](const auto& list) { return checkpoint(f, list[0]); },
                                                 [&](const auto& list) { return elsewhere(list[0]); }}) {
    own.manual_seed(5);
    const Tensor y = checkpoint(once, std::vector<Tensor>{x});
    const RandomState after = own.state();
    CHECK(bits_equal(grad(sum(y), {x})[0], y.detach()));
    CHECK(own.state() == after);
    CHECK(after.offset == 16);
  }
}

TEST_CASE("a checkpoint's function may make a generator of its own in each run") {
  const Tensor x = ones({64}).requires_grad_();
  const auto f = [](const Tensor& t) {
    Generator own;
    own.manual_seed(5);
    return dropout(t, 0.5, true, &own);
  };
  const Tensor y = checkpoint(f, x);
  CHECK(bits_equal(grad(sum(y), {x})[0], y.detach()));
}

TEST_CASE("a leaf that a checkpoint's function uses is not changed before backward") {
  const Tensor x = leaf({3}), w = leaf({3});
  const Tensor y = checkpoint([&](const Tensor& t) { return t * w; }, x);
  {
    const NoGradGuard off;
    add_(w, 1);
  }
  CHECK(fails_with("checkpoint: a tensor of shape [3] that backward needs was changed",
                   [&] { backward(sum(y)); }));
}

TEST_CASE("batch norm inside a checkpoint counts each batch once") {
  nn::BatchNorm1d plain(3), kept(3);
  const Tensor x = scattered({8, 3}, -1, 1, float32).requires_grad_();
  for (int step = 0; step < 3; ++step) {
    backward(sum(plain(x) * x));
    backward(sum(checkpoint([&](const Tensor& t) { return kept(t); }, x) * x));
  }
  CHECK(kept.num_batches_tracked.item<int64_t>() == 3);
  CHECK(bits_equal(plain.running_mean, kept.running_mean));
  CHECK(bits_equal(plain.running_var, kept.running_var));
  CHECK(bits_equal(plain.weight.grad(), kept.weight.grad()));
}
