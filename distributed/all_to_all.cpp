#include <tern/distributed/collective_checks.h>

#include <numeric>
#include <utility>

namespace tern::distributed {
namespace {

// Checks a list of `all_to_all`; returns the elements of each tensor.
Counts counts_of(const ProcessGroup& group, const std::vector<Tensor>& list, const Tensor& model,
                 const char* what) {
  check(list.size() == static_cast<size_t>(group.size()), "all_to_all: ", what, " must hold ", group.size(),
        " tensors, one for each rank, got ", list.size());
  Counts counts;
  for (const Tensor& x : list) {
    check_tensor(group, x, "all_to_all", what);
    check_like(x, model, "all_to_all", what);
    counts.push_back(x.numel());
  }
  return counts;
}

Tensor flat(const Tensor& x) { return x.with_layout(Layout({x.numel()}, Strides{1}, x.layout().offset)); }

// The elements that go to (or come from) each rank: rows of `x` by `splits`, or in equal parts.
Counts split(const ProcessGroup& group, const Tensor& x, const std::vector<int64_t>& splits,
             const char* what) {
  constexpr const char* operation = "all_to_all_single";
  const int64_t rows = x.size(0), row_size = rows == 0 ? 0 : x.numel() / rows;
  const size_t ranks = static_cast<size_t>(group.size());
  if (splits.empty()) {
    check(rows % group.size() == 0, operation, ": the ", rows, " rows of ", what,
          " can't be cut into equal parts for ", group.size(), " ranks; give ", what, "_split_sizes");
    return Counts(ranks, rows / group.size() * row_size);
  }
  check(splits.size() == ranks, operation, ": ", what, "_split_sizes must hold ", ranks, " numbers, got ",
        splits.size());
  int64_t left = rows;
  Counts counts;
  for (const int64_t size : splits) {
    check(size >= 0 && size <= left, operation, ": ", what, "_split_sizes must add up to the ", rows,
          " rows of ", what, " and none be negative");
    left -= size;
    counts.push_back(size * row_size);
  }
  check(left == 0, operation, ": ", what, "_split_sizes must add up to the ", rows, " rows of ", what,
        ", got ", rows - left);
  return counts;
}

}  // namespace

std::shared_ptr<Work> all_to_all(const std::vector<Tensor>& output_list,
                                 const std::vector<Tensor>& input_list, const CollectiveOptions& options) {
  const Group group = chosen(options.group);
  check(!input_list.empty() && input_list[0].defined(), "all_to_all: input_list is empty or undefined");
  const Tensor& model = input_list[0];
  const Counts in_counts = counts_of(*group, input_list, model, "input_list");
  const Counts out_counts = counts_of(*group, output_list, model, "output_list");
  check_results(output_list, "all_to_all");
  const Tensor in = joined(detached(input_list));
  const int64_t received = std::accumulate(out_counts.begin(), out_counts.end(), int64_t{0});
  const Tensor out = empty({received}, model.dtype(), model.device());
  bump_versions(output_list);
  const auto body = [self = group.get(), list = detached(output_list), in, out, in_counts,
                     out_counts](const Call& numbered) {
    self->all_to_all(numbered, out, out_counts, in, in_counts);
    deliver(out, list);
  };
  return group->start({"all_to_all", model.dtype()}, options.async_op, body);
}

std::shared_ptr<Work> all_to_all_single(const Tensor& output, const Tensor& input,
                                        const AllToAllOptions& options) {
  constexpr const char* operation = "all_to_all_single";
  const Group group = chosen(options.group);
  check_result(*group, output, operation, "output");
  check_tensor(*group, input, operation, "input");
  check_like(output, input, operation, "output");
  check(input.dim() > 0 && output.dim() > 0, operation, ": tensors must have a dimension to cut");
  Shape in_row = input.shape(), out_row = output.shape();
  in_row.erase(0), out_row.erase(0);
  check(in_row == out_row, operation, ": output and input may differ in their first dimension only, got ",
        output.shape(), " and ", input.shape());
  const Counts in_counts = split(*group, input, options.input_split_sizes, "input");
  const Counts out_counts = split(*group, output, options.output_split_sizes, "output");
  const Tensor out = output.detach(), stand_in = dense_result(out);
  const Tensor x = dense_apart_from(input.detach(), stand_in);
  output.bump_version();
  const auto body = [self = group.get(), out, stand_in, x, in_counts, out_counts](const Call& numbered) {
    self->all_to_all(numbered, flat(stand_in), out_counts, flat(x), in_counts);
    deliver(stand_in, out);
  };
  return group->start({operation, input.dtype(), in_row}, options.async_op, body);
}

}  // namespace tern::distributed
