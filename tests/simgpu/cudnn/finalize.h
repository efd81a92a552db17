// What a descriptor's attributes mean once they are all set. Used from the thread that finalises.

#pragma once

#include <tern/tests/simgpu/cudnn/descriptor.h>

namespace simdnn {

/// Checks the attributes together and sets what the descriptor means; throws Failure.
void finalize_meaning(Descriptor& descriptor);

}  // namespace simdnn
