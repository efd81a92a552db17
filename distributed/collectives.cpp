#include <tern/distributed/collective_checks.h>

#include <utility>

namespace tern::distributed {
namespace {

// `backend(call, stand_in)` reads or writes a dense tensor, what it wrote is brought into `result` if
// defined.
template <class Backend>
std::shared_ptr<Work> start(const Group& group, const Call& call, bool async, const Tensor& stand_in,
                            const Tensor& result, Backend backend) {
  if (result.defined()) result.bump_version();
  return group->start(call, async,
                      [self = group.get(), stand_in = stand_in.detach(),
                       result = result.defined() && !stand_in.is_same(result) ? result.detach() : Tensor(),
                       backend](const Call& numbered) {
                        (self->*backend)(numbered, stand_in);
                        if (result.defined()) kernels::copy(stand_in, result);
                      });
}

void check_peer(const ProcessGroup& group, int peer, const char* operation) {
  check(peer != group.rank(), operation, ": rank ", group.ranks()[static_cast<size_t>(peer)],
        " is the calling rank itself");
}

}  // namespace

std::shared_ptr<Work> all_reduce(const Tensor& tensor, const ReduceOptions& options) {
  const Group group = chosen(options.group);
  check_result(*group, tensor, "all_reduce", "tensor");
  check_reduction(options.op, tensor.dtype(), "all_reduce");
  const Call call{"all_reduce", tensor.dtype(), tensor.shape(), options.op};
  return start(group, call, options.async_op, dense(tensor), tensor, &ProcessGroup::all_reduce);
}

std::shared_ptr<Work> reduce(const Tensor& tensor, int dst, const ReduceOptions& options) {
  const Group group = chosen(options.group);
  const int root = group->rank_of(dst, "reduce");
  const bool is_root = root == group->rank();
  (is_root ? check_result : check_tensor)(*group, tensor, "reduce", "tensor");
  check_reduction(options.op, tensor.dtype(), "reduce");
  const Call call{"reduce", tensor.dtype(), tensor.shape(), options.op, root};
  return start(group, call, options.async_op, dense(tensor), is_root ? tensor : Tensor(),
               &ProcessGroup::reduce);
}

std::shared_ptr<Work> broadcast(const Tensor& tensor, int src, const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  const int root = group->rank_of(src, "broadcast");
  const bool is_root = root == group->rank();
  (is_root ? check_tensor : check_result)(*group, tensor, "broadcast", "tensor");
  const Call call{"broadcast", tensor.dtype(), tensor.shape(), {}, root};
  return start(group, call, options.async_op, is_root ? dense(tensor) : dense_result(tensor),
               is_root ? Tensor() : tensor, &ProcessGroup::broadcast);
}

std::shared_ptr<Work> send(const Tensor& tensor, int dst, const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  const int peer = group->rank_of(dst, "send");
  check_peer(*group, peer, "send");
  check_tensor(*group, tensor, "send", "tensor");
  const Call call{"send", tensor.dtype(), tensor.shape(), {}, peer};
  return start(group, call, options.async_op, dense(tensor), Tensor(), &ProcessGroup::send);
}

std::shared_ptr<Work> recv(const Tensor& tensor, int src, const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  const int peer = group->rank_of(src, "recv");
  check_peer(*group, peer, "recv");
  check_result(*group, tensor, "recv", "tensor");
  const Call call{"recv", tensor.dtype(), tensor.shape(), {}, peer};
  return start(group, call, options.async_op, dense_result(tensor), tensor, &ProcessGroup::recv);
}

std::shared_ptr<Work> barrier(const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  const Tensor x = empty({1}, uint8);
  *x.data<uint8_t>() = 0;
  const Call call{"barrier", uint8, {}, ReduceOp::max};
  return start(group, call, options.async_op, x, Tensor(), &ProcessGroup::all_reduce);
}

}  // namespace tern::distributed
