// What the cases of operations.cpp are made of. A case is a name and a function that makes what is timed:
// tensors come into being when their case is measured, and go with it. cases.py has the same words.
#pragma once

#include <tern/benchmarks/timing.h>
#include <tern/tern.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace benchmarks {

struct Case {
  std::string name;
  std::function<Run()> make;
};
using Cases = std::vector<Case>;

Cases pointwise_cases();
Cases reduction_cases();
Cases image_cases();
Cases sequence_cases();
Cases indexing_cases();
Cases copy_cases();
Cases loss_cases();
Cases training_cases();

/// An argument of what is timed. `is_leaf`: backward computes its gradient.
struct Input {
  std::function<tern::Tensor()> make;
  bool is_leaf = true;

  tern::Tensor made(bool for_backward) const {
    tern::Tensor x = make();
    return for_backward && is_leaf ? x.requires_grad_() : x;
  }
};

Input normal(const tern::Shape& shape, tern::DType dtype = tern::float32);
Input positive(const tern::Shape& shape);                 ///< from 0.5 to 1.5
Input image(const tern::Shape& shape);                    ///< channels-last
Input target(const tern::Shape& shape);                   ///< from 0 to 1, without a gradient
Input integers(int64_t below, const tern::Shape& shape);  ///< int64
Input truth(bool value, const tern::Shape& shape);        ///< bool, everywhere `value`

/// Normally distributed, with y's shape, dtype and layout.
tern::Tensor random_like(const tern::Tensor& y);

/// Those that require a gradient.
template <class Tensors>
std::vector<tern::Tensor> leaves_of(const Tensors& tensors) {
  std::vector<tern::Tensor> leaves;
  for (const tern::Tensor& x : tensors)
    if (x.requires_grad()) leaves.push_back(x);
  return leaves;
}

/// function() and backward to `leaves`; the upstream gradient is made once.
template <class Function>
Run with_backward(Function function, const std::vector<tern::Tensor>& leaves) {
  return [=, dy = random_like(function())]() mutable {
    for (const tern::Tensor& leaf : leaves) leaf.set_grad(tern::Tensor());
    tern::backward(function(), {.gradient = dy});
  };
}

/// function(inputs…), nothing recorded.
template <class Function, class... Inputs>
auto forward(Function function, const Inputs&... inputs) {
  return [=]() -> Run {
    const std::array<tern::Tensor, sizeof...(Inputs)> x{inputs.made(false)...};
    return [function, x]() mutable {
      const tern::NoGradGuard no_grad;
      std::apply(function, x);
    };
  };
}

/// function(inputs…) and backward to the inputs.
template <class Function, class... Inputs>
auto both(Function function, const Inputs&... inputs) {
  return [=]() -> Run {
    const std::array<tern::Tensor, sizeof...(Inputs)> x{inputs.made(true)...};
    return with_backward([function, x]() mutable { return std::apply(function, x); }, leaves_of(x));
  };
}

/// function(layer, inputs…) and backward to the layer's parameters and the inputs.
template <class MakeLayer, class Function, class... Inputs>
auto layer(MakeLayer make_layer, Function function, const Inputs&... inputs) {
  return [=]() -> Run {
    const std::array<tern::Tensor, sizeof...(Inputs)> x{inputs.made(true)...};
    const auto module = std::make_shared<decltype(make_layer())>(make_layer());
    std::vector<tern::Tensor> leaves = module->parameters();
    for (const tern::Tensor& leaf : leaves_of(x)) leaves.push_back(leaf);
    const auto call = [=](const auto&... arguments) { return function(*module, arguments...); };
    return with_backward([call, x] { return std::apply(call, x); }, leaves);
  };
}

}  // namespace benchmarks
