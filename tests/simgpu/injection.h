// Failures on demand. SIMGPU_FAIL="cudaMalloc:3,cudaStreamCreate:1" makes the third cudaMalloc and the first
// cudaStreamCreate of the process fail; "lost:5" loses the device that is about to run the fifth piece of
// work.
#pragma once

namespace simgpu {

/// Counts a call of `kind` and answers whether it shall fail. Any thread.
bool injected(const char* kind);

}  // namespace simgpu
