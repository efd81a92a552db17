#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <cmath>

namespace tern {
namespace {

// Any function of one variable: keeps the input or the output, whichever its gradient is made from. Integers,
// where the maths does not take them, are converted to float32 first.
template <class Math>
Tensor pointwise(const Math& math, const Tensor& x) {
  const bool convert = !is_floating_point(x.dtype()) && !TakesIntegers<Math>;
  const Tensor input = convert ? kernels::to(x, float32) : x;
  Tensor y = kernels::unary(math, input);
  return record(
      Math::name, y, {x},
      [math, kept = SavedTensor(GradientFromOutput<Math> ? y : input)](const Tensor& dy) -> Gradients {
        return {kernels::unary_backward(math, kept.get(), dy)};
      });
}

}  // namespace

Tensor neg(const Tensor& x) { return pointwise(Neg{}, x); }
Tensor exp(const Tensor& x) { return pointwise(Exp{}, x); }
Tensor log(const Tensor& x) { return pointwise(Log{}, x); }
Tensor sqrt(const Tensor& x) { return pointwise(Sqrt{}, x); }
Tensor tanh(const Tensor& x) { return pointwise(Tanh{}, x); }
Tensor relu(const Tensor& x) { return pointwise(Relu{}, x); }

Tensor eq(const Tensor& a, const Tensor& b) { return kernels::compare(Equal{}, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return kernels::compare(NotEqual{}, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return kernels::compare(Less{}, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return kernels::compare(LessEqual{}, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return kernels::compare(Greater{}, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return kernels::compare(GreaterEqual{}, a, b); }
Tensor eq(const Tensor& a, Scalar b) { return eq(a, kernels::scalar_like(b, a)); }
Tensor ne(const Tensor& a, Scalar b) { return ne(a, kernels::scalar_like(b, a)); }
Tensor lt(const Tensor& a, Scalar b) { return lt(a, kernels::scalar_like(b, a)); }
Tensor le(const Tensor& a, Scalar b) { return le(a, kernels::scalar_like(b, a)); }
Tensor gt(const Tensor& a, Scalar b) { return gt(a, kernels::scalar_like(b, a)); }
Tensor ge(const Tensor& a, Scalar b) { return ge(a, kernels::scalar_like(b, a)); }

bool equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype() || a.device() != b.device()) return false;
  return kernels::all(eq(a, b)).item<bool>();
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  check(is_floating_point(a.dtype()) && is_floating_point(b.dtype()),
        "allclose: needs floating-point tensors, got ", a.dtype(), " and ", b.dtype());
  if (a.shape() != b.shape()) return false;
  const Tensor left = kernels::contiguous(kernels::to(a, float64)),
               right = kernels::contiguous(kernels::to(b, float64));
  const double* x = left.data<double>();
  const double* y = right.data<double>();
  for (int64_t i = 0; i < left.numel(); ++i) {
    const bool both_nan = equal_nan && std::isnan(x[i]) && std::isnan(y[i]);
    const bool close =
        x[i] == y[i] || (std::isfinite(x[i] - y[i]) && std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]));
    if (!close && !both_nan) return false;
  }
  return true;
}

}  // namespace tern
