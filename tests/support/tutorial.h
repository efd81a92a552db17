// The tutorial's CNN and the images that the golden file of its first steps was made with.
#pragma once

#include <tern/nn/sequential.h>

namespace tern::tests {

/// Conv(3→32) – ReLU – Conv(32→64) – ReLU – MaxPool – Flatten – Linear, on 32×32 images of ten classes.
nn::Sequential tutorial_cnn();

/// Images [128, 3, 32, 32] and labels [128], as tests/golden/make_golden.py describes them.
struct Batch {
  Tensor images, labels;
};
Batch synthetic_batch(uint32_t number);

}  // namespace tern::tests
