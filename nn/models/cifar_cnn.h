// The small convolutional network of the CIFAR-10 tutorial.
#pragma once

#include <tern/nn/sequential.h>

namespace tern::nn::models {

/// Conv(3 -> 32, 3x3, padding 1), ReLU, Conv(32 -> 64, 3x3, padding 1), ReLU, MaxPool(2), Flatten,
/// Linear(64 16 16 -> num_classes): logits [N, num_classes] of images [N, 3, 32, 32].
Sequential cifar_cnn(int64_t num_classes = 10);

}  // namespace tern::nn::models
