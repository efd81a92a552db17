// One line of test for a layer of one's own.
#pragma once

#include <tern/autograd/gradient_check.h>
#include <tern/nn/module.h>

namespace tern::nn {

namespace detail {
void check_members(Module& layer, const Tensor& result);
void check_state(Module& layer, Module& twin);
std::vector<Tensor> checked_tensors(Module& layer, const std::vector<Tensor>& inputs);
}  // namespace detail

/// Holds that `layer`, called with `inputs`, is a sound layer: the tensors that backward reaches are exactly
/// the parameters that it lists, all require a gradient, gradients of parameters and floating-point inputs
/// equal central differences in float64, and clone() and load_state_dict() give a layer that computes the
/// same. Works on a clone; fresh random numbers (dropout in training) are seeded alike for each call. Throws
/// Error that says what is wrong.
template <std::derived_from<Module> L, class... Inputs>
void check_layer(const L& layer, const Inputs&... inputs);

}  // namespace tern::nn

#include <tern/nn/check_layer_impl.h>
