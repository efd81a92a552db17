#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/core/profile.h>
#include <tern/kernels/pointwise.h>

namespace tern {
namespace {

// In float16 the usual eps would be 0.
Tensor wide(const char* operation, const Tensor& x) {
  check(is_floating_point(x.dtype()), operation, ": needs floating-point tensors, got ", x.dtype());
  return to(x, computing_dtype(x.dtype()));
}

}  // namespace

Tensor normalize(const Tensor& x, double p, int64_t dim, double eps) {
  const OperationScope scope("normalize");
  const Tensor t = wide("normalize", x);
  return to(t / clamp(norm(t, p, {dim}, true), eps), x.dtype());
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double eps) {
  const OperationScope scope("cosine_similarity");
  const char* operation = "cosine_similarity";
  const Tensor left = wide(operation, a), right = wide(operation, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), operation);
  const auto direction = [&](const Tensor& x) { return normalize(expand(x, shape), 2, dim, eps); };
  return to(sum(direction(left) * direction(right), dim), kernels::result_type(a, b));
}

}  // namespace tern
