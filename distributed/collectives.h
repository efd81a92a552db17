// Collectives: what ranks do together, by PyTorch's names and argument orders.
//
//   all_reduce(loss);                                        // the sum over all ranks, in place
//   auto work = all_reduce(bucket, {.op = ReduceOp::avg, .async_op = true});
//   …
//   work->wait();
//
// All ranks of the group call the same functions in the same order, with tensors of one dtype and of the
// shapes said below. Tensors may have any strides: exactly the elements of the view are read and written.
// They may be empty. Every dtype is served; reductions exclude what ReduceOp excludes. Gradients are not
// recorded (distributed/functional.h does): results are written in place, and backward complains, as it does
// of any other change, if it still needed the old values.
//
// `.group` null means the default group. `dst` and `src` are ranks of the job (the group's ranks()
// translate), which in the default group and in any that was made without `ranks` are simply its ranks.
//
// A synchronous call returns when the result is there. With `.async_op = true` it returns at once; the result
// is there when the returned Work's wait() has returned. The Work is never null: that of a synchronous call
// is completed.
//
// Throws Error, before anything is sent, for arguments that are wrong on their own: an undefined tensor,
// tensors of different dtypes or shapes where they must agree, a device that the group does not serve, a
// result that is an expanded view or shares elements with another result (with an input it may: that counts
// as it was before), a root that is no member, a reduction that the dtype lacks. If only one rank's arguments
// are wrong, the others wait for it until the timeout says which rank is missing. DistributedError: see
// distributed/process_group.h.
#pragma once

#include <tern/distributed/process_group.h>

#include <memory>
#include <vector>

namespace tern::distributed {

using Group = std::shared_ptr<ProcessGroup>;

struct CollectiveOptions {
  Group group = nullptr;
  bool async_op = false;
};

struct ReduceOptions {
  ReduceOp op = ReduceOp::sum;
  Group group = nullptr;
  bool async_op = false;
};

struct AllToAllOptions {
  std::vector<int64_t> output_split_sizes = {};  ///< rows that come from each rank; empty: equal parts
  std::vector<int64_t> input_split_sizes = {};   ///< rows that go to each rank; empty: equal parts
  Group group = nullptr;
  bool async_op = false;
};

/// tensor = the reduction of all ranks' tensors, on every rank.
std::shared_ptr<Work> all_reduce(const Tensor& tensor, const ReduceOptions& options = {});
/// The same on rank `dst` only; the others' tensors keep their values.
std::shared_ptr<Work> reduce(const Tensor& tensor, int dst, const ReduceOptions& options = {});
/// tensor = rank src's tensor.
std::shared_ptr<Work> broadcast(const Tensor& tensor, int src, const CollectiveOptions& options = {});

/// tensors[r] = rank r's tensor: as many tensors as ranks, each of `tensor`'s shape.
std::shared_ptr<Work> all_gather(const std::vector<Tensor>& tensors, const Tensor& tensor,
                                 const CollectiveOptions& options = {});
/// output = the ranks' inputs one after another along the first dimension, [n * a, ...] of inputs [a, ...],
/// or stacked, [n, a, ...].
std::shared_ptr<Work> all_gather_into_tensor(const Tensor& output, const Tensor& input,
                                             const CollectiveOptions& options = {});
/// gather_list[r] = rank r's tensor, on rank `dst`; the others give an empty list.
std::shared_ptr<Work> gather(const Tensor& tensor, const std::vector<Tensor>& gather_list = {}, int dst = 0,
                             const CollectiveOptions& options = {});
/// tensor = rank src's scatter_list[r], r this rank; the others give an empty list.
std::shared_ptr<Work> scatter(const Tensor& tensor, const std::vector<Tensor>& scatter_list = {}, int src = 0,
                              const CollectiveOptions& options = {});

/// output = the reduction of all ranks' input_list[r], r this rank: as many tensors as ranks, each of
/// `output`'s shape.
std::shared_ptr<Work> reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list,
                                     const ReduceOptions& options = {});
/// The same from one tensor, which is cut into equal parts along its first dimension: [n * a, ...] or
/// [n, a, ...] for an output [a, ...].
std::shared_ptr<Work> reduce_scatter_tensor(const Tensor& output, const Tensor& input,
                                            const ReduceOptions& options = {});

/// output_list[r] = rank r's input_list[q], q this rank. Sizes may differ from pair to pair, if both ends
/// agree.
std::shared_ptr<Work> all_to_all(const std::vector<Tensor>& output_list,
                                 const std::vector<Tensor>& input_list,
                                 const CollectiveOptions& options = {});
/// The same with tensors that are cut along their first dimension, into equal parts or by the split sizes.
std::shared_ptr<Work> all_to_all_single(const Tensor& output, const Tensor& input,
                                        const AllToAllOptions& options = {});

/// Sends tensor to rank `dst`, which receives it into one of the same dtype and number of elements. A
/// synchronous send may return before it is received, or wait for that: two ranks that send to each other
/// and then receive use `.async_op = true` for one of both. Messages between two ranks do not count in the
/// group's sequence, but in one of their own, in each direction.
std::shared_ptr<Work> send(const Tensor& tensor, int dst, const CollectiveOptions& options = {});
/// tensor = what rank `src` sends next to this one.
std::shared_ptr<Work> recv(const Tensor& tensor, int src, const CollectiveOptions& options = {});

/// Returns when all ranks have called it.
std::shared_ptr<Work> barrier(const CollectiveOptions& options = {});

}  // namespace tern::distributed
