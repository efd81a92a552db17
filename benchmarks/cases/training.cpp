#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {
namespace {

using namespace tern;

std::vector<Tensor> parameters_with_gradients() {
  std::vector<Tensor> parameters;
  for (int i = 0; i < 20; ++i) {
    parameters.push_back(randn({100'000}).requires_grad_());
    parameters.back().set_grad(randn({100'000}));
  }
  return parameters;
}

// A step of 20 parameters.
template <class Optimizer, class Options>
auto step(const Options& options) {
  return [=]() -> Run {
    const auto optimizer = std::make_shared<Optimizer>(parameters_with_gradients(), options);
    return [=] { optimizer->step(); };
  };
}

// The bound falls from call to call: each one scales the gradients.
Run clipping() {
  return [parameters = parameters_with_gradients(), bound = 1000.0]() mutable {
    optim::clip_grad_norm_(parameters, bound);
    bound *= 0.999;
  };
}

// zero_grad, forward, backward and step of a classifier.
template <class Model>
Run training_step(Model model, const optim::SGDOptions& options, const Tensor& x, const Tensor& labels) {
  const auto optimizer = std::make_shared<optim::SGD>(model.parameters(), options);
  return [=]() mutable {
    optimizer->zero_grad();
    backward(cross_entropy(model(x), labels));
    optimizer->step();
  };
}

// So small that only overhead counts.
Run mlp() {
  const nn::Sequential model(nn::Linear(16, 16), nn::ReLU(), nn::Linear(16, 16));
  return training_step(model, {.lr = 0.01}, randn({16, 16}), randint(0, 16, {16}));
}

Run resnet18() {
  const auto model = nn::models::resnet18({.num_classes = 10, .stem = nn::models::ResNetStem::cifar});
  const Tensor x = contiguous(randn({32, 3, 32, 32}), MemoryFormat::channels_last);
  return training_step(model, {.lr = 0.01, .momentum = 0.9}, x, randint(0, 10, {32}));
}

}  // namespace

Cases loss_cases() {
  const Input logits = normal({512, 1000}), labels = integers(1000, {512});
  const Input x = normal({1024, 1024}), y = target({1024, 1024});
  const auto kl = [](auto& a, auto& b) { return kl_div(a, b, {.reduction = KLDivReduction::batchmean}); };
  return {
      {"cross_entropy and backward",
       both([](auto& a, auto& b) { return cross_entropy(a, b); }, logits, labels)},
      {"nll_loss and backward", both([](auto& a, auto& b) { return nll_loss(a, b); }, logits, labels)},
      {"mse_loss and backward", both([](auto& a, auto& b) { return mse_loss(a, b); }, x, y)},
      {"smooth_l1_loss and backward", both([](auto& a, auto& b) { return smooth_l1_loss(a, b); }, x, y)},
      {"bce_with_logits and backward",
       both([](auto& a, auto& b) { return binary_cross_entropy_with_logits(a, b); }, x, y)},
      {"kl_div and backward", both(kl, x, y)},
  };
}

Cases training_cases() {
  return {
      {"SGD step", step<optim::SGD>(optim::SGDOptions{.lr = 1e-6, .momentum = 0.9})},
      {"Adam step", step<optim::Adam>(optim::AdamOptions{.lr = 1e-6})},
      {"AdamW step", step<optim::AdamW>(optim::AdamWOptions{.lr = 1e-6})},
      {"RMSprop step", step<optim::RMSprop>(optim::RMSpropOptions{.lr = 1e-6})},
      {"Adagrad step", step<optim::Adagrad>(optim::AdagradOptions{.lr = 1e-6})},
      {"clip_grad_norm_", clipping},
      {"MLP 16-16-16 step", mlp},
      {"ResNet-18 step", resnet18},
  };
}

}  // namespace benchmarks
