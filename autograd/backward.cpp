#include <tern/autograd/backward.h>

#include <tern/autograd/walk.h>
#include <tern/core/profile.h>
#include <tern/kernels/fill.h>

namespace tern {
namespace {

using detail::Walk;

Tensor initial_gradient(const Tensor& result, const Tensor& given, const char* caller) {
  if (given.defined()) {
    check(given.shape() == result.shape() && given.dtype() == result.dtype(), caller,
          ": the result has shape ", result.shape(), " and dtype ", result.dtype(), ", the given gradient ",
          given.shape(), " and ", given.dtype());
    check(given.device() == result.device(), caller, ": the result is on ", result.device(),
          ", the given gradient on ", given.device());
    return given.detach();
  }
  check(result.numel() == 1, caller, ": a result of shape ", result.shape(),
        " needs a gradient to start from (options.gradient); only one with a single element starts from 1");
  Tensor one = empty_like(result);
  kernels::fill(one, 1);
  return one;
}

void refuse_create_graph(bool create_graph, const char* caller) {
  check(!create_graph, caller, ": second derivatives (create_graph) are not supported");
}

}  // namespace

void backward(const Tensor& result, const BackwardOptions& options) {
  const OperationScope scope("backward");
  refuse_create_graph(options.create_graph, "backward");
  Walk walk(result, "backward");
  walk.collect(Walk::Into::leaves);
  walk.run(initial_gradient(result, options.gradient, "backward"), options.retain_graph);
}

std::vector<Tensor> grad(const Tensor& result, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  const OperationScope scope("grad");
  refuse_create_graph(options.create_graph, "grad");
  Walk walk(result, "grad");
  std::vector<Edge> targets;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(inputs[i].defined() && inputs[i].requires_grad(), "grad: input ", i, " requires no gradient");
    targets.push_back(edge_to(inputs[i]));
  }
  walk.collect(Walk::Into::results);
  walk.restrict_to(std::move(targets));
  walk.run(initial_gradient(result, options.gradient, "grad"), options.retain_graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(options.allow_unused || walk.results()[i].defined(), "grad: the result does not depend on input ",
          i, " (allow_unused gives an undefined gradient instead)");
  }
  return std::move(walk.results());
}

}  // namespace tern
