// Collectives that gradients pass through. All ranks call forward alike, and then run backward through the
// results alike: each rank's gradient is that of the sum of all ranks' losses.
#pragma once

#include <tern/distributed/collectives.h>

namespace tern::distributed::functional {

/// The sum (or average) of all ranks' x, as a new tensor. The gradient of x is the sum (or average) of all
/// ranks' gradients of the result. Throws Error for another ReduceOp, and as distributed::all_reduce does.
Tensor all_reduce(const Tensor& x, ReduceOp op = ReduceOp::sum, const Group& group = nullptr);

/// All ranks' x, stacked: [n, ...]. The gradient of x is the sum over ranks of their gradients of row r, r
/// this rank.
Tensor all_gather(const Tensor& x, const Group& group = nullptr);

}  // namespace tern::distributed::functional
