#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>

namespace tern {

// y = A x for a matrix A of weights; dx = A^T dy.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  const OperationScope scope("interpolate");
  return record("interpolate", kernels::interpolate(x, options), {x},
                [options, shape = x.shape()](const Tensor& dy) -> Gradients {
                  return {kernels::interpolate_backward(dy, shape, options)};
                });
}

}  // namespace tern
