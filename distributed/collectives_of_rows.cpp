#include <tern/distributed/collective_checks.h>

#include <utility>

namespace tern::distributed {
namespace {

// As many tensors as ranks, all like `model`.
void check_list(const ProcessGroup& group, const std::vector<Tensor>& list, const Tensor& model,
                const char* operation, const char* what) {
  check(list.size() == static_cast<size_t>(group.size()), operation, ": ", what, " must hold ", group.size(),
        " tensors, one for each rank, got ", list.size());
  for (const Tensor& x : list) {
    check_tensor(group, x, operation, what);
    check_like(x, model, operation, what);
    check(x.shape() == model.shape(), operation, ": tensors of ", what, " must have shape ", model.shape(),
          ", got ", x.shape());
  }
}

void check_no_list(const std::vector<Tensor>& list, const char* operation, const char* what) {
  check(list.empty(), operation, ": only the root gives a ", what, "; give an empty one elsewhere");
}

// `all` must be the parts of all ranks, stacked or one after another.
void check_parts(const ProcessGroup& group, const Tensor& all, const Tensor& part, const char* operation,
                 const char* what) {
  const bool stacked = all.dim() == part.dim() + 1 && all.size(0) == group.size();
  const bool joined = all.dim() == part.dim() && part.dim() > 0 && all.size(0) % group.size() == 0 &&
                      all.size(0) / group.size() == part.size(0);
  Shape one = all.shape();
  if (stacked) one.erase(0);
  if (joined) one[0] = part.size(0);
  check((stacked || joined) && one == part.shape(), operation, ": ", what, " must be ", group.size(),
        " parts of shape ", part.shape(), ", stacked or one after another, got shape ", all.shape());
}

Tensor empty_rows(const Tensor& part, int ranks) {
  return empty({ranks, part.numel()}, part.dtype(), part.device());
}

}  // namespace

std::shared_ptr<Work> all_gather(const std::vector<Tensor>& tensors, const Tensor& tensor,
                                 const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  check_tensor(*group, tensor, "all_gather", "tensor");
  check_list(*group, tensors, tensor, "all_gather", "tensors");
  check_results(tensors, "all_gather");
  const Tensor rows = empty_rows(tensor, group->size());
  bump_versions(tensors);
  const Call call{"all_gather", tensor.dtype(), tensor.shape()};
  return group->start(
      call, options.async_op,
      [self = group.get(), list = detached(tensors), rows, x = dense(tensor.detach())](const Call& numbered) {
        self->all_gather(numbered, rows, x);
        deliver(rows, list);
      });
}

std::shared_ptr<Work> all_gather_into_tensor(const Tensor& output, const Tensor& input,
                                             const CollectiveOptions& options) {
  constexpr const char* operation = "all_gather_into_tensor";
  const Group group = chosen(options.group);
  check_result(*group, output, operation, "output");
  check_tensor(*group, input, operation, "input");
  check_like(output, input, operation, "output");
  check_parts(*group, output, input, operation, "output");
  const Tensor out = output.detach(), rows = dense_result(out);
  const Tensor x = dense_apart_from(input.detach(), rows);
  output.bump_version();
  const Call call{operation, input.dtype(), input.shape()};
  return group->start(call, options.async_op, [self = group.get(), out, rows, x](const Call& numbered) {
    self->all_gather(numbered, rows, x);
    deliver(rows, out);
  });
}

std::shared_ptr<Work> gather(const Tensor& tensor, const std::vector<Tensor>& gather_list, int dst,
                             const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  const int root = group->rank_of(dst, "gather");
  const bool is_root = root == group->rank();
  check_tensor(*group, tensor, "gather", "tensor");
  if (is_root) {
    check_list(*group, gather_list, tensor, "gather", "gather_list");
    check_results(gather_list, "gather");
  } else {
    check_no_list(gather_list, "gather", "gather_list");
  }
  const Tensor rows = is_root ? empty_rows(tensor, group->size()) : Tensor();
  bump_versions(gather_list);
  const Call call{"gather", tensor.dtype(), tensor.shape(), {}, root};
  return group->start(call, options.async_op,
                      [self = group.get(), list = detached(gather_list), rows,
                       x = dense(tensor.detach())](const Call& numbered) {
                        self->gather(numbered, rows, x);
                        if (rows.defined()) deliver(rows, list);
                      });
}

std::shared_ptr<Work> scatter(const Tensor& tensor, const std::vector<Tensor>& scatter_list, int src,
                              const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  const int root = group->rank_of(src, "scatter");
  const bool is_root = root == group->rank();
  check_result(*group, tensor, "scatter", "tensor");
  if (is_root)
    check_list(*group, scatter_list, tensor, "scatter", "scatter_list");
  else
    check_no_list(scatter_list, "scatter", "scatter_list");
  const Tensor x = tensor.detach(), stand_in = dense_result(x);
  const Tensor rows = is_root ? joined(detached(scatter_list)) : Tensor();
  tensor.bump_version();
  const Call call{"scatter", tensor.dtype(), tensor.shape(), {}, root};
  return group->start(call, options.async_op, [self = group.get(), x, stand_in, rows](const Call& numbered) {
    self->scatter(numbered, stand_in, rows);
    deliver(stand_in, x);
  });
}

namespace {

std::shared_ptr<Work> start_reduce_scatter(const Group& group, const char* operation, const Tensor& output,
                                           const Tensor& rows, const ReduceOptions& options) {
  const Tensor out = output.detach(), stand_in = dense_result(out);
  output.bump_version();
  const Call call{operation, output.dtype(), output.shape(), options.op};
  return group->start(call, options.async_op,
                      [self = group.get(), out, stand_in, rows](const Call& numbered) {
                        self->reduce_scatter(numbered, stand_in, rows);
                        deliver(stand_in, out);
                      });
}

}  // namespace

std::shared_ptr<Work> reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list,
                                     const ReduceOptions& options) {
  const Group group = chosen(options.group);
  check_result(*group, output, "reduce_scatter", "output");
  check_list(*group, input_list, output, "reduce_scatter", "input_list");
  check_reduction(options.op, output.dtype(), "reduce_scatter");
  return start_reduce_scatter(group, "reduce_scatter", output, joined(detached(input_list)), options);
}

std::shared_ptr<Work> reduce_scatter_tensor(const Tensor& output, const Tensor& input,
                                            const ReduceOptions& options) {
  constexpr const char* operation = "reduce_scatter_tensor";
  const Group group = chosen(options.group);
  check_result(*group, output, operation, "output");
  check_tensor(*group, input, operation, "input");
  check_like(input, output, operation, "input");
  check_parts(*group, input, output, operation, "input");
  check_reduction(options.op, output.dtype(), operation);
  return start_reduce_scatter(group, operation, output, dense_apart_from(input.detach(), output), options);
}

}  // namespace tern::distributed
