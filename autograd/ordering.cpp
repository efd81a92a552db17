#include <tern/autograd/ordering.h>

#include <tern/autograd/record.h>
#include <tern/kernels/gather.h>
#include <tern/kernels/scan.h>
#include <tern/kernels/sort.h>

namespace tern {
namespace {

// dx is dy at the places that were taken, zero elsewhere.
ValuesAndIndices record_taken(const char* operation, const Tensor& x, int64_t dim,
                              const ValuesAndIndices& taken) {
  return {
      record(operation, taken.values, {x},
             [shape = x.shape(), dim, indices = SavedTensor(taken.indices)](const Tensor& dy) -> Gradients {
               return {kernels::gather_backward(dy, shape, dim, indices.get())};
             }),
      taken.indices};
}

}  // namespace

ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending) {
  const OperationScope scope("sort");
  return record_taken("sort", x, dim, kernels::sort(x, dim, descending));
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  const OperationScope scope("argsort");
  return kernels::sort(x, dim, descending).indices;
}

ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  const OperationScope scope("topk");
  return record_taken("topk", x, dim, kernels::topk(x, k, dim, largest));
}

// dx[i] = dy[i] + … + dy[last].
Tensor cumsum(const Tensor& x, int64_t dim) {
  const OperationScope scope("cumsum");
  return record("cumsum", kernels::cumsum(x, dim), {x},
                [dim](const Tensor& dy) -> Gradients { return {kernels::cumsum(dy, dim, true)}; });
}

}  // namespace tern
