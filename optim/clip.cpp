#include <tern/optim/clip.h>

#include <tern/core/profile.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <cmath>
#include <optional>

namespace tern::optim {
namespace {

// Calls action(gradient, position of its parameter) for each gradient that is there.
template <class Action>
void each_gradient(const char* operation, const std::vector<Tensor>& parameters, Action action) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    check(parameters[i].defined(), operation, ": parameter ", i, " is undefined");
    const Tensor gradient = parameters[i].grad();
    if (gradient.defined()) action(gradient, i);
  }
}

// The largest |x|; NaN wins.
double largest(const Tensor& x) {
  return x.numel() == 0 ? 0 : kernels::max(kernels::unary(Abs{}, x)).item<double>();
}

struct Gradients {
  const std::vector<Tensor>& parameters;

  template <class Action>
  void each(Action action) const {
    each_gradient("clip_grad_norm_", parameters, action);
  }

  double largest_of_all() const {
    double most = 0;
    each([&](const Tensor& gradient, size_t) {
      const double own = largest(gradient);
      if (own > most || std::isnan(own)) most = own;
    });
    return most;
  }

  // most (sum (|g| / most)^p)^(1/p).
  double scaled_norm(double p) const {
    const double most = largest_of_all();
    if (most == 0 || !std::isfinite(most) || std::isinf(p)) return most;
    double sum = 0;
    each([&](const Tensor& gradient, size_t) {
      const Tensor wide = kernels::unary(Abs{}, kernels::to(gradient, float64));
      const Tensor share = kernels::div(wide, kernels::scalar_like(most, wide));
      sum += kernels::sum(kernels::unary(Power{p}, share)).item<double>();
    });
    return most * std::pow(sum, 1 / p);
  }

  double norm(double p) const {
    if (p != 2) return scaled_norm(p);
    double squares = 0;
    each([&](const Tensor& gradient, size_t) { squares += kernels::sum_of_squares(gradient); });
    const bool sound = std::isfinite(squares) && squares > 1e-280;
    return sound ? std::sqrt(squares) : scaled_norm(p);
  }

  void report(double norm) const {
    each([&](const Tensor& gradient, size_t i) {
      const double own = largest(gradient);
      check(std::isfinite(own), "clip_grad_norm_: the gradient of parameter ", i, " has ",
            std::isnan(own) ? "NaN" : "infinite", " elements");
    });
    throw Error("clip_grad_norm_: the norm of all gradients is " + std::to_string(norm));
  }
};

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const OperationScope scope("clip_grad_norm_");
  check(max_norm >= 0, "clip_grad_norm_: max_norm must not be negative, got ", max_norm);
  check(norm_type > 0, "clip_grad_norm_: norm_type must be above 0, got ", norm_type);
  const Gradients gradients{parameters};
  const double norm = gradients.norm(norm_type), factor = max_norm / (norm + 1e-6);
  if (!std::isfinite(norm) && error_if_nonfinite) gradients.report(norm);
  DType dtype = float32;
  std::optional<Device> device;
  gradients.each([&](const Tensor& gradient, size_t) {
    if (gradient.dtype() == float64) dtype = float64;
    if (!device) device = gradient.device();
    if (std::isfinite(norm) && factor < 1)
      kernels::binary_(Mul{}, gradient, kernels::scalar_like(factor, gradient));
  });
  const Tensor result = empty({}, dtype, device.value_or(Device()));
  kernels::fill(result, norm);
  return result;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const OperationScope scope("clip_grad_value_");
  check(clip_value >= 0, "clip_grad_value_: clip_value must not be negative, got ", clip_value);
  each_gradient("clip_grad_value_", parameters, [clip_value](const Tensor& gradient, size_t) {
    kernels::binary_(Minimum{}, gradient, kernels::scalar_like(clip_value, gradient));
    kernels::binary_(Maximum{}, gradient, kernels::scalar_like(-clip_value, gradient));
  });
}

}  // namespace tern::optim
