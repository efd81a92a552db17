#include <tern/autograd/record.h>
#include <tern/distributed/functional.h>
#include <tern/kernels/copy.h>

namespace tern::distributed::functional {
namespace {

Tensor reduced(const Tensor& x, ReduceOp op, const Group& group) {
  const Tensor y = empty(x.shape(), x.dtype(), x.device());
  kernels::copy(x, y);
  distributed::all_reduce(y, {.op = op, .group = group});
  return y;
}

}  // namespace

// y = Σ x_r; dx = Σ dy_r. Likewise for the average.
Tensor all_reduce(const Tensor& x, ReduceOp op, const Group& group) {
  check(x.defined(), "all_reduce: x is undefined");
  check(op == ReduceOp::sum || op == ReduceOp::avg, "all_reduce: only sum and avg are differentiable, got ",
        op);
  const Group chosen = group ? group : default_group();
  return record("all_reduce", reduced(x.detach(), op, chosen), {x},
                [op, chosen](const Tensor& dy) -> Gradients { return {reduced(dy, op, chosen)}; });
}

// y[r] = x_r; dx = Σ dy_s[r], r this rank.
Tensor all_gather(const Tensor& x, const Group& group) {
  check(x.defined(), "all_gather: x is undefined");
  const Group chosen = group ? group : default_group();
  Shape shape = x.shape();
  shape.insert(0, chosen->size());
  const Tensor y = empty(shape, x.dtype(), x.device());
  all_gather_into_tensor(y, x, {.group = chosen});
  return record("all_gather", y, {x}, [chosen, part = x.shape()](const Tensor& dy) -> Gradients {
    const Tensor dx = empty(part, dy.dtype(), dy.device());
    reduce_scatter_tensor(dx, dy, {.group = chosen});
    return {dx};
  });
}

}  // namespace tern::distributed::functional
