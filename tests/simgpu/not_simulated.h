// What a stand-in library answers for a function that it lacks.
#pragma once

namespace simgpu {

/// Reports `call` as missing and ends the process.
[[noreturn]] void not_simulated(const char* call);

}  // namespace simgpu
