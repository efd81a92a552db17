// Images that the golden files of training steps were made with.
#pragma once

#include <tern/core/tensor.h>

namespace tern::tests {

/// The 32-bit hash that golden files' numbers come from.
uint32_t mix(uint32_t h);

/// Images [128, 3, 32, 32] and labels [128], as tests/golden/make_golden.py describes them.
struct Batch {
  Tensor images, labels;
};
Batch synthetic_batch(uint32_t number);

}  // namespace tern::tests
