// Metrics over ranks in which every sample counts once.
//
// Evaluate with a DistributedSampler whose `padding` is off: shares differ by one then, and none is there
// twice. All ranks call these functions once, after their whole pass: the ranks' passes may have different
// numbers of batches.
#pragma once

#include <tern/distributed/collectives.h>

namespace tern::distributed {

/// The sum of all ranks' `sum` divided by the sum of their `count`, the same bits on all: an accuracy from
/// right answers and samples, a mean loss from the sum of losses and samples. (A mean of the ranks' means
/// would be wrong where shares differ.) NaN when all counts are 0. Throws Error for a
/// negative count.
double global_mean(double sum, int64_t count, const Group& group = nullptr);

struct GatherForMetricsOptions {
  /// How many of this rank's last rows repeat those of another: DistributedSampler::repeated(), for a sampler
  /// that pads.
  int64_t repeated = 0;
  Group group = nullptr;
};

/// All ranks' rows in the order in which a DistributedSampler dealt their samples out, on every rank: first
/// row 0 of each rank, then row 1 of those that have one, … `rows` [a, …], one a sample of the rank's whole
/// pass, may have any number of rows, none too, but all ranks one dtype and the same further sizes. Not
/// recorded. Throws Error for a tensor without dimensions and for `repeated` that is negative or more than
/// there are.
Tensor gather_for_metrics(const Tensor& rows, const GatherForMetricsOptions& options = {});

}  // namespace tern::distributed
