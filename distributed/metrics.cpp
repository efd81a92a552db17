#include <tern/distributed/metrics.h>

#include <tern/autograd/convert.h>
#include <tern/autograd/grad_mode.h>
#include <tern/autograd/indexing.h>
#include <tern/autograd/views.h>
#include <tern/distributed/collective_checks.h>
#include <tern/kernels/creation.h>

#include <algorithm>

namespace tern::distributed {

double global_mean(double sum, int64_t count, const Group& group) {
  check(count >= 0, "global_mean: a count cannot be negative, got ", count);
  const Tensor both = empty({2}, float64);
  double* value = both.data<double>();
  value[0] = sum, value[1] = static_cast<double>(count);
  all_reduce(both, {.group = group});
  return value[0] / value[1];
}

Tensor gather_for_metrics(const Tensor& rows, const GatherForMetricsOptions& options) {
  const Group group = chosen(options.group);
  check(rows.defined() && rows.dim() >= 1, "gather_for_metrics: needs a row for each sample, got ",
        rows.defined() ? "a tensor without dimensions" : "an undefined tensor");
  check(options.repeated >= 0 && options.repeated <= rows.size(0),
        "gather_for_metrics: repeated must be from ", "0 to the number of rows, ", rows.size(0), ", got ",
        options.repeated);
  const int64_t ranks = group->size(), own = rows.size(0) - options.repeated;
  const Tensor count = empty({1}, int64), counts = empty({ranks}, int64);
  *count.data<int64_t>() = own;
  all_gather_into_tensor(counts, count, {.group = group});
  const int64_t* of_rank = counts.data<int64_t>();
  const int64_t most = *std::max_element(of_rank, of_rank + ranks);

  const NoGradGuard no_grad;
  Shape shape = rows.shape();
  shape[0] = most;
  const Tensor padded = zeros(shape, rows.dtype(), rows.device());
  kernels::copy(narrow(rows, 0, 0, own), narrow(padded, 0, 0, own));
  shape[0] = ranks * most;
  const Tensor all = empty(shape, rows.dtype(), rows.device());
  all_gather_into_tensor(all, padded, {.group = group});

  std::vector<int64_t> order;
  for (int64_t i = 0; i < most; ++i) {
    for (int64_t r = 0; r < ranks; ++r) {
      if (i < of_rank[r]) order.push_back(r * most + i);
    }
  }
  return index_select(all, 0, to(from_vector(order), rows.device()));
}

}  // namespace tern::distributed
