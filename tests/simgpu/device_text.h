// printf and assert of device code.
#pragma once

#include <tern/tests/simgpu/warp.h>

namespace simgpu {

/// vprintf: Operation::v has the local offsets of the pointers to the format and to the arguments.
void print_from_device(Warp& warp, const Operation& operation);

/// __assertfail: message, file, line and function; a fault.
void assertion_failed(Warp& warp, const Operation& operation);

}  // namespace simgpu
