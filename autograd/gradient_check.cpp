#include <tern/autograd/gradient_check.h>

#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/autograd/reductions.h>
#include <tern/kernels/copy.h>

#include <cmath>
#include <unordered_set>

namespace tern {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Fixed numbers of mixed signs and sizes, shaped as the result.
Tensor weights_for(const Tensor& result) {
  Tensor weights = empty(result.shape(), float64, result.device());
  double* w = weights.data<double>();
  for (int64_t i = 0; i < weights.numel(); ++i) w[i] = std::sin(1.0 + 0.7 * static_cast<double>(i)) + 0.1;
  return weights;
}

double weighted_sum(const Tensor& result) {
  const NoGradGuard no_grad;
  return sum(result * weights_for(result)).item<double>();
}

std::vector<Tensor> gradients_of(const Function& function, const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& wanted) {
  const Tensor result = function(inputs);
  check(result.dtype() == float64, "gradient_check: the function must return float64, got ", result.dtype());
  check(result.requires_grad(),
        "gradient_check: the result does not depend on any input that requires a gradient");
  return grad(result, wanted, {.gradient = weights_for(result), .allow_unused = true});
}

// The place in memory of element i in row-major order.
double& element(const Tensor& x, int64_t i) {
  int64_t offset = 0;
  for (int64_t dim = x.dim() - 1; dim >= 0; --dim) {
    offset += i % x.shape()[dim] * x.strides()[dim];
    i /= x.shape()[dim];
  }
  return x.data<double>()[offset];
}

double central_difference(const Function& function, const std::vector<Tensor>& inputs, const Tensor& x,
                          int64_t i, double eps) {
  const NoGradGuard no_grad;
  double& value = element(x, i);
  const double before = value;
  value = before + eps;
  x.bump_version();
  const double above = weighted_sum(function(inputs));
  value = before - eps;
  x.bump_version();
  const double below = weighted_sum(function(inputs));
  value = before;
  x.bump_version();
  return (above - below) / (2 * eps);
}

}  // namespace

void gradient_check(const Function& function, const std::vector<Tensor>& inputs,
                    const GradientCheckOptions& options) {
  std::vector<Tensor> wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    check(inputs[i].dtype() == float64 && inputs[i].is_leaf() && !inputs[i].layout().overlaps_itself(),
          "gradient_check: input ", i, " must be a leaf of float64 whose elements do not share places");
    wanted.push_back(inputs[i]);
  }
  const std::vector<Tensor> analytic = gradients_of(function, inputs, wanted);
  const std::vector<Tensor> again = gradients_of(function, inputs, wanted);
  for (size_t k = 0; k < wanted.size(); ++k) {
    check(analytic[k].defined() == again[k].defined() &&
              (!analytic[k].defined() || equal(analytic[k], again[k])),
          "gradient_check: the gradient of input ", k, " differs between two equal calls");
    for (int64_t i = 0; i < wanted[k].numel(); ++i) {
      const double numeric = central_difference(function, inputs, wanted[k], i, options.eps);
      const double value = analytic[k].defined() ? element(analytic[k], i) : 0;
      check(std::abs(value - numeric) <= options.atol + options.rtol * std::abs(numeric),
            "gradient_check: input ", k, " of shape ", wanted[k].shape(), ", element ", i,
            ": backward gives ", value, ", central differences ", numeric);
    }
  }
}

std::vector<Tensor> leaves_of(const Tensor& result) {
  std::vector<Tensor> leaves;
  std::unordered_set<const RefCounted*> seen;
  std::vector<Edge> waiting{edge_to(result)};
  while (!waiting.empty()) {
    const Edge edge = std::move(waiting.back());
    waiting.pop_back();
    if (edge.leaf && seen.insert(edge.leaf.get()).second) leaves.emplace_back(edge.leaf);
    if (edge.node && seen.insert(edge.node.get()).second) {
      waiting.insert(waiting.end(), edge.node->inputs.begin(), edge.node->inputs.end());
    }
  }
  return leaves;
}

}  // namespace tern
