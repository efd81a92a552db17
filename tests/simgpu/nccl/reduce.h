// Reductions over the ranks, in their order, in more precision than the type has, rounded once.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace simgpu::nccl {

/// 0: no type of NCCL's.
size_t size_of(ncclDataType_t type);

/// A number of the type as a double, such as the factor of a pre-multiplied sum.
double number_of(const void* value, ncclDataType_t type);

enum class Reduction { sum, product, largest, smallest, average };

/// to[i] = the reduction of scalars[rank] * from[rank][i] over the ranks; without scalars, of from[rank][i].
void reduce(void* to, const std::vector<const void*>& from, const std::vector<double>& scalars, size_t count,
            ncclDataType_t type, Reduction reduction);

}  // namespace simgpu::nccl
