// What forward and backward passes of norms share: which elements are normalised together.

#pragma once

#include <tern/tests/simgpu/cudnn/operation.h>

namespace simdnn {

/// Sizes of a norm's statistics: 1 where it averages. Throws for modes that cuDNN doesn't know; sets
/// `missing` for modes that aren't simulated.
Sizes statistics_sizes(cudnnBackendNormMode_t mode, const Tensor& x, const Tensor& scale,
                       std::string& missing);

/// Averages over all elements that a statistic stands for.
Array mean_of(const Array& values, const Sizes& statistics);

/// Calls body(place in x, place in the statistics, place in the weights) for each element.
void for_each_element(const Sizes& x, const Sizes& statistics, const Sizes& weights,
                      const std::function<void(size_t, size_t, size_t)>& body);

/// Throws unless a tensor that may be missing has these sizes.
void check_sizes(const std::shared_ptr<const Tensor>& tensor, const Sizes& expected);

}  // namespace simdnn
