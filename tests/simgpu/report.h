// Reports of what a program did wrong. They go to stderr at once, and fail the process when it ends: a test
// can't overlook one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace simgpu {

/// A fault of work on a device: `error` stays the device's error from then on.
struct Fault : std::runtime_error {
  Fault(cudaError_t error, const std::string& what) : std::runtime_error(what), error(error) {}
  cudaError_t error;
};

/// Prints "simgpu: " and the text, and remembers that there was a report.
void report(const std::string& text);

/// For what can't go on, an instruction that is not simulated for one: prints the text and aborts.
[[noreturn]] void give_up(const std::string& text);

int64_t report_count();

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace simgpu
