// A small training run with everything that a state must bring back: dropout, momentum, an order of samples,
// a schedule of the learning rate.
#pragma once

#include <tern/autograd/backward.h>
#include <tern/autograd/losses.h>
#include <tern/core/random.h>
#include <tern/data/data_loader.h>
#include <tern/kernels/creation.h>
#include <tern/nn/activations.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/sequential.h>
#include <tern/optim/adamw.h>
#include <tern/tests/support/layouts.h>
#include <tern/train/state.h>

namespace tern::tests {

struct SmallSet {
  int64_t size() const { return 64; }
  data::Example get(int64_t i) const {
    return {full({4}, static_cast<double>(i % 7) / 7), full({}, i % 3, int64)};
  }
};

/// The learning rate falls by a factor with each step: a class of a user's own with a state.
class Decay {
 public:
  explicit Decay(optim::Optimizer& optimizer) : optimizer_(optimizer) {}
  void step() { optimizer_.set_lr(0.05 * std::pow(0.999, static_cast<double>(++steps_))); }
  int64_t steps() const { return steps_; }
  TensorMap state_dict() const { return {{"steps", full({}, steps_, int64)}}; }
  void load_state_dict(const TensorMap& state) {
    check(state.contains("steps"), "Decay: \"steps\" is missing");
    steps_ = state.at("steps").item<int64_t>();
  }

 private:
  optim::Optimizer& optimizer_;
  int64_t steps_ = 0;
};

struct SmallRun {
  nn::Sequential net;
  optim::AdamW optimizer;
  Decay decay;
  data::DataLoader<SmallSet> loader;
  int64_t step = 0;

  explicit SmallRun(int64_t width = 16)
      : net(nn::Linear(4, width), nn::Tanh(), nn::Dropout(0.5), nn::Linear(width, 3)),
        optimizer(net.parameters(), {.lr = 0.05}),
        decay(optimizer),
        loader(SmallSet(), {.batch_size = 8, .shuffle = true, .seed = 3}) {}

  std::vector<train::StatePart> parts() {
    return {{"model", net}, {"optimizer", optimizer}, {"decay", decay}, {"loader", loader}};
  }
  void learn(const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    backward(cross_entropy(net(x), y));
    optimizer.step();
    decay.step();
    ++step;
  }
  /// Takes steps until `last`; after(step) follows each.
  void run_to(
      int64_t last, const std::function<void()>& after = [] {}) {
    while (step < last) {
      for (auto& [x, y] : loader) {
        learn(x, y);
        after();
        if (step == last) break;
      }
    }
  }
  TensorMap all() {
    TensorMap all;
    for (const train::StatePart& part : parts()) {
      for (const auto& [name, tensor] : part.save()) all[part.name + "." + name] = tensor;
    }
    return all;
  }
};

inline bool same_bits(const TensorMap& a, const TensorMap& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !bits_equal(tensor, b.at(name))) return false;
  }
  return true;
}

inline TensorMap copied(const TensorMap& all) {
  TensorMap copy;
  for (const auto& [name, tensor] : all) copy[name] = laid_out(tensor, Lay::contiguous);
  return copy;
}

}  // namespace tern::tests
