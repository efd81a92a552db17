#include <tern/nn/sequential.h>

#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>

namespace tern::nn {

Tensor Sequential::forward(const Tensor& x) {
  Tensor result = x;
  for (size_t i = 0; i < layers_.size();) i += step(i, result);
  return result;
}

// Runs what starts at layer i and returns how many layers that was.
size_t Sequential::step(size_t i, Tensor& x) {
  const auto follows = [&]<class M>(size_t distance, M*) -> M* {
    return i + distance < layers_.size() ? layers_[i + distance].as<M>() : nullptr;
  };
  if (auto* conv = layers_[i].as<Conv2d>(); conv && follows(1, static_cast<ReLU*>(nullptr))) {
    const auto* pool = follows(2, static_cast<MaxPool2d*>(nullptr));
    const bool halves = pool && pool->is_halving();
    x = run_module(*conv, [&] {
      return halves ? conv2d_relu_max_pool2d(x, conv->weight, conv->bias, conv->options())
                    : conv2d_relu(x, conv->weight, conv->bias, conv->options());
    });
    return halves ? 3 : 2;
  }
  if (auto* flat = layers_[i].as<Flatten>();
      flat && flat->is_per_sample() && x.is_channels_last() && !x.is_contiguous()) {
    if (auto* linear = follows(1, static_cast<Linear*>(nullptr))) {
      x = run_module(*linear, [&] { return flatten_linear(x, linear->weight, linear->bias); });
      return 2;
    }
  }
  x = layers_[i](x);
  return 1;
}

void Sequential::members(Visitor& visitor) {
  for (size_t i = 0; i < layers_.size(); ++i) visitor.module(std::to_string(i), *layers_[i]);
}

AnyModule& Sequential::operator[](size_t i) {
  check(i < layers_.size(), "Sequential: there is no layer ", i, " among ", layers_.size());
  return layers_[i];
}

}  // namespace tern::nn
