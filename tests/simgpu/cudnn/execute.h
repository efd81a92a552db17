// Runs a plan on a handle's stream.

#pragma once

#include <tern/tests/simgpu/cudnn/graph.h>

namespace simdnn {

/// Checks the variant pack against the plan and queues the plan's work; throws Failure.
void execute(const Handle& handle, const Plan& plan, const Descriptor& pack, cudaStream_t stream);

}  // namespace simdnn
