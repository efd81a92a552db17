// Which gradients travel together.
#pragma once

#include <tern/core/tensor.h>

#include <vector>

namespace tern::nn::parallel {

/// The tensors of each bucket, in the order of reduction. Tensors are taken in `order` (each once); a bucket
/// has one dtype and device, and is full when it holds `capacity` bytes or more, the first that is filled at
/// `first_capacity`. Buckets come in the order in which they got their last tensor.
std::vector<std::vector<size_t>> plan_buckets(const std::vector<Tensor>& tensors,
                                              const std::vector<size_t>& order, double first_capacity,
                                              double capacity);

}  // namespace tern::nn::parallel
