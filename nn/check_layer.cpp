#include <tern/nn/check_layer.h>

#include <tern/autograd/grad_mode.h>
#include <tern/kernels/fill.h>

#include <algorithm>

namespace tern::nn::detail {
namespace {

bool contains(const std::vector<Tensor>& list, const Tensor& x) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& one) { return one.is_same(x); });
}

}  // namespace

void check_members(Module& layer, const Tensor& result) {
  const std::vector<Tensor> reached = leaves_of(result);
  const std::vector<Tensor> listed = layer.parameters();
  for (const Tensor& leaf : reached) {
    check(contains(listed, leaf), layer.describe(), ": a parameter of shape ", leaf.shape(),
          " is used but not listed by members()");
  }
  for (const auto& [name, parameter] : layer.named_parameters()) {
    check(parameter.requires_grad(), layer.describe(), ": parameter ", name,
          " does not require a gradient and would never be trained: make it with requires_grad_(), or show "
          "it as a buffer");
    check(contains(reached, parameter), layer.describe(), ": parameter ", name,
          " is listed by members() but the result does not depend on it");
  }
}

void check_state(Module& layer, Module& twin) {
  for (const auto& [name, tensor] : twin.state_dict()) {
    check(!contains(layer.parameters(), tensor), layer.describe(), ": a clone shares ", name);
    kernels::zero(tensor);
  }
  twin.load_state_dict(layer.state_dict());
}

std::vector<Tensor> checked_tensors(Module& layer, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all = inputs;
  const std::vector<Tensor> parameters = layer.parameters();
  all.insert(all.end(), parameters.begin(), parameters.end());
  return all;
}

}  // namespace tern::nn::detail
