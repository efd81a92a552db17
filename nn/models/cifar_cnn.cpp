#include <tern/nn/models/cifar_cnn.h>

#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>

namespace tern::nn::models {

Sequential cifar_cnn(int64_t num_classes) {
  return Sequential(Conv2d(3, 32, 3, {.padding = 1}), ReLU(), Conv2d(32, 64, 3, {.padding = 1}), ReLU(),
                    MaxPool2d(2), Flatten(), Linear(64 * 16 * 16, num_classes));
}

}  // namespace tern::nn::models
