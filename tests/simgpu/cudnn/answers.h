// cudnnBackendGetAttribute: what was set, and what the library knows of a finalised descriptor.

#pragma once

#include <tern/tests/simgpu/cudnn/descriptor.h>

namespace simdnn {

/// Throws Failure. `count` may be null; `room` elements fit into `values`, which may be null.
void get_attribute(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values);

}  // namespace simdnn
