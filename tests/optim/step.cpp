// What a step changes and what it leaves alone.
#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/kernels/creation.h>
#include <tern/optim/adagrad.h>
#include <tern/optim/adam.h>
#include <tern/optim/adamw.h>
#include <tern/optim/lion.h>
#include <tern/optim/rmsprop.h>
#include <tern/optim/sgd.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

using Values = std::vector<double>;

Tensor leaf(const Values& values) {
  return tensor_of(values, {static_cast<int64_t>(values.size())}).requires_grad_();
}

// The parameters after three steps with gradients that lie as `lay` says.
template <class Optimizer>
Tensor trained(Lay parameter_lay, Lay gradient_lay) {
  const Shape shape{2, 3, 4, 5};
  const Tensor x = laid_out(scattered(shape), parameter_lay).requires_grad_();
  Optimizer optimizer({x});
  optimizer.options().lr = 0.1;
  if constexpr (requires { optimizer.options().momentum; }) optimizer.options().momentum = 0.9;
  for (int step = 0; step < 3; ++step) {
    x.set_grad(laid_out(upstream(shape), gradient_lay));
    optimizer.step();
  }
  return x.detach();
}

template <class Optimizer>
void check_all_layouts() {
  const Tensor expected = trained<Optimizer>(Lay::contiguous, Lay::contiguous);
  for (const Lay parameter : all_lays) {
    for (const Lay gradient : all_lays) {
      INFO(name(parameter), " parameter, ", name(gradient), " gradient");
      CHECK(bits_equal(trained<Optimizer>(parameter, gradient), expected));
    }
  }
}

}  // namespace

TEST_CASE("a parameter without gradient keeps its value, its version and its state") {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  optim::AdamW adamw({a, b}, {.lr = 0.1, .weight_decay = 0.5});
  optim::Adam adam({a, b}, {.lr = 0.1, .weight_decay = 0.5});
  optim::RMSprop rmsprop({a, b}, {.lr = 0.1, .weight_decay = 0.5, .momentum = 0.5});
  optim::Adagrad adagrad({a, b}, {.lr = 0.1, .weight_decay = 0.5, .initial_accumulator_value = 1});
  optim::Lion lion({a, b}, {.lr = 0.1, .weight_decay = 0.5});
  optim::SGD sgd({a, b}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5});
  a.set_grad(ones({2}, float64));
  for (optim::Optimizer* optimizer :
       std::initializer_list<optim::Optimizer*>{&adamw, &adam, &rmsprop, &adagrad, &lion, &sgd}) {
    const uint64_t before = b.version();
    optimizer->step();
    CHECK(values_of(b) == Values{3, 4});
    CHECK(b.version() == before);
    const TensorMap state = optimizer->state_dict();
    CHECK(state.lower_bound("state.1.") == state.end());
  }
  CHECK(adamw.state_dict().contains("state.0.exp_avg"));
  CHECK(sgd.state_dict().contains("state.0.momentum_buffer"));
}

TEST_CASE("zero_grad makes gradients absent") {
  const Tensor a = leaf({1, 2}), b = leaf({3});
  optim::SGD optimizer({a, b}, {.lr = 1});
  backward(sum(a * a));
  CHECK(a.grad().defined());
  optimizer.zero_grad();
  CHECK_FALSE(a.grad().defined());
  optimizer.step();
  CHECK(values_of(a) == Values{1, 2});
}

TEST_CASE("a parameter that is an expanded view is refused, and stays as it was") {
  const auto check_refused = []<class Optimizer>(const Optimizer*) {
    const Tensor base = ones({1, 3}, float64);
    const Tensor spread = base.with_layout(base.layout().expand({2, 3})).requires_grad_();
    spread.set_grad(ones({2, 3}, float64));
    Optimizer optimizer({spread}, {.lr = 0.1});
    CHECK(fails_with("clone() first", [&] { optimizer.step(); }));
    CHECK(values_of(base) == Values{1, 1, 1});
  };
  check_refused(static_cast<optim::SGD*>(nullptr));
  check_refused(static_cast<optim::Adam*>(nullptr));
  check_refused(static_cast<optim::AdamW*>(nullptr));
  check_refused(static_cast<optim::RMSprop*>(nullptr));
  check_refused(static_cast<optim::Adagrad*>(nullptr));
  check_refused(static_cast<optim::Lion*>(nullptr));
}

TEST_CASE("a new learning rate holds from the next step on, for one group or for all") {
  const Tensor a = leaf({1}), b = leaf({1});
  optim::SGD optimizer(
      std::vector<optim::ParamGroup<optim::SGDOptions>>{{{a}, {.lr = 0.5}}, {{b}, {.lr = 0.25}}});
  CHECK(optimizer.num_groups() == 2);
  a.set_grad(ones({1}, float64)), b.set_grad(ones({1}, float64));
  optimizer.step();
  CHECK(values_of(a) == Values{0.5});
  CHECK(values_of(b) == Values{0.75});
  optimizer.set_lr(4, 1);
  CHECK(optimizer.lr(0) == 0.5);
  CHECK(optimizer.lr(1) == 4);
  optimizer.step();
  CHECK(values_of(a) == Values{0});
  CHECK(values_of(b) == Values{-3.25});
  optimizer.set_lr(0);
  optimizer.step();
  CHECK(values_of(a) == Values{0});
  CHECK(values_of(b) == Values{-3.25});
}

TEST_CASE("a step writes into the parameter's own memory, unrecorded, and leaves the gradient as it is") {
  const Tensor a = leaf({1, 2});
  const void* memory = a.data();
  optim::SGD optimizer({a}, {.lr = 0.5, .momentum = 0.5, .weight_decay = 2, .maximize = true});
  a.set_grad(tensor_of({1, -1}, {2}));
  optimizer.step();
  CHECK(a.data() == memory);
  CHECK(a.is_leaf());
  CHECK(a.requires_grad());
  CHECK(values_of(a.grad()) == Values{1, -1});
  CHECK(values_of(a) == Values{0.5, -0.5});  // maximize turns the gradient around, not the decay
}

TEST_CASE("how parameters and gradients lie in memory does not change a bit") {
  check_all_layouts<optim::SGD>();
  check_all_layouts<optim::AdamW>();
  check_all_layouts<optim::Adam>();
  check_all_layouts<optim::RMSprop>();
  check_all_layouts<optim::Adagrad>();
  check_all_layouts<optim::Lion>();
}

TEST_CASE("the momentum buffer starts as the first gradient, whatever the dampening") {
  const Tensor a = leaf({0});
  optim::SGD optimizer({a}, {.lr = 1, .momentum = 0.5, .dampening = 0.75});
  a.set_grad(ones({1}, float64));
  optimizer.step();
  CHECK(values_of(a) == Values{-1});
  optimizer.step();
  CHECK(values_of(a) == Values{-1.75});  // 0.5 * 1 + 0.25 * 1
}

TEST_CASE("optimizers minimise what backward differentiates") {
  const Tensor a = leaf({3, -2});
  optim::AdamW optimizer({a}, {.lr = 0.1, .weight_decay = 0});
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    backward(sum((a - 1) * (a - 1)));
    optimizer.step();
  }
  CHECK(distance(a.detach(), ones({2}, float64)) < 1e-2);
}

TEST_CASE("heavy ball and Nesterov momentum are not damped") {
  for (const bool nesterov : {false, true}) {
    const Tensor p = leaf({1});
    optim::SGD optimizer({p}, {.lr = 0.1, .momentum = 0.9, .nesterov = nesterov});
    for (const double expected : nesterov ? Values{0.81, 0.539, 0.1951} : Values{0.9, 0.71, 0.439}) {
      p.set_grad(ones({1}, float64));
      optimizer.step();
      CHECK(p.item<double>() == doctest::Approx(expected).epsilon(1e-12));
    }
  }
}

TEST_CASE("Adam's L2 term takes each parameter's own value, with zero gradients too") {
  const Tensor a = leaf({1}), b = leaf({-2});
  optim::Adam optimizer({a, b}, {.lr = 0.01, .weight_decay = 0.1});
  a.set_grad(zeros({1}, float64)), b.set_grad(zeros({1}, float64));
  optimizer.step();
  CHECK(a.item<double>() == doctest::Approx(0.99).epsilon(1e-6));
  CHECK(b.item<double>() == doctest::Approx(-1.99).epsilon(1e-6));
}

TEST_CASE("the variance of centered RMSprop is never negative, however equal the gradients") {
  for (const DType dtype : {float32, float64}) {
    const Tensor p = scattered({64}, -1, 1, dtype).requires_grad_();
    optim::RMSprop optimizer({p}, {.lr = 1e-6, .alpha = 0.5, .centered = true});
    const Tensor gradient = scattered({64}, 0.1, 1000, dtype);
    for (int step = 0; step < 200; ++step) {
      p.set_grad(gradient);
      optimizer.step();
    }
    for (const double value : values_of(p)) CHECK(std::isfinite(value));
  }
}

TEST_CASE("Lion moves every element by the learning rate; a NaN gradient shows in the parameter") {
  const Tensor p = leaf({1, 1, 1, 1});
  optim::Lion optimizer({p}, {.lr = 0.25});
  p.set_grad(tensor_of({1e-30, -1e30, 0, NAN}, {4}));
  optimizer.step();
  const Values after = values_of(p);
  CHECK(Values(after.begin(), after.begin() + 3) == Values{0.75, 1.25, 1});
  CHECK(std::isnan(after[3]));
}
