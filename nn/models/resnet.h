// Residual networks (He et al., "Deep residual learning for image recognition", arXiv:1512.03385), with
// torchvision's structure, parameter names and initial values: its weights load as they are.
#pragma once

#include <tern/nn/conv.h>
#include <tern/nn/linear.h>
#include <tern/nn/normalization.h>
#include <tern/nn/sequential.h>

#include <array>

namespace tern::nn::models {

enum class ResNetStem {
  imagenet,  ///< a 7x7 convolution of stride 2 and a 3x3 max pooling of stride 2
  cifar,     ///< a 3x3 convolution of stride 1: for images of 32 x 32
};

struct ResNetOptions {
  int64_t num_classes = 1000;
  ResNetStem stem = ResNetStem::imagenet;
};

/// Two 3x3 convolutions beside a shortcut, of ResNet-18 and 34.
class BasicBlock : public Layer<BasicBlock> {
 public:
  BasicBlock(int64_t in_channels, int64_t channels, int64_t stride);
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;

  Conv2d conv1, conv2;
  BatchNorm2d bn1, bn2;
  Sequential downsample;  ///< empty where the shortcut is the input itself
};

/// 1x1, 3x3 (with the stride) and 1x1 convolutions beside a shortcut, of ResNet-50; the result has four times
/// `channels`.
class Bottleneck : public Layer<Bottleneck> {
 public:
  Bottleneck(int64_t in_channels, int64_t channels, int64_t stride);
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;

  Conv2d conv1, conv2, conv3;
  BatchNorm2d bn1, bn2, bn3;
  Sequential downsample;
};

/// Logits [N, num_classes] of images [N, 3, H, W].
class ResNet : public Layer<ResNet> {
 public:
  /// `blocks` in each of the four stages, of the kind that `bottleneck` says.
  ResNet(const std::array<int64_t, 4>& blocks, bool bottleneck, const ResNetOptions& options);
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;

  Conv2d conv1;
  BatchNorm2d bn1;
  Sequential layer1, layer2, layer3, layer4;
  Linear fc;

 private:
  ResNetStem stem_;
};

ResNet resnet18(const ResNetOptions& options = {});
ResNet resnet34(const ResNetOptions& options = {});
ResNet resnet50(const ResNetOptions& options = {});

}  // namespace tern::nn::models
