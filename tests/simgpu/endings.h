// What is checked when the process ends: leaks, and that nothing was reported.
#pragma once

#include <cstdint>
#include <functional>

namespace simgpu {

/// The process's exit status where anything was reported.
constexpr int reported_status = 66;

void add_exit_check(const char* kind, std::function<int64_t()> live);

}  // namespace simgpu
