#include <tern/nn/models/resnet.h>

#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/nn/init.h>

namespace tern::nn::models {
namespace {

constexpr int64_t expansion = 4;  // of a bottleneck's channels

Conv2d convolution(int64_t in_channels, int64_t channels, int64_t kernel, int64_t stride = 1) {
  return Conv2d(in_channels, channels, kernel,
                {.stride = stride, .padding = (kernel - 1) / 2, .bias = false});
}

// What brings the input of a block to its result's shape; nothing where it has it.
Sequential shortcut(int64_t in_channels, int64_t channels, int64_t stride) {
  if (stride == 1 && in_channels == channels) return Sequential();
  return Sequential(convolution(in_channels, channels, 1, stride), BatchNorm2d(channels));
}

template <class Block>
Sequential stage(int64_t blocks, int64_t in_channels, int64_t channels, int64_t result, int64_t stride) {
  Sequential sequence;
  for (int64_t i = 0; i < blocks; ++i)
    sequence.push_back(Block(i == 0 ? in_channels : result, channels, i == 0 ? stride : 1));
  return sequence;
}

// Stage `index` of four: 64, 128, 256 and 512 channels, halving the image from the second on.
Sequential stage_of(int64_t index, int64_t blocks, bool bottleneck) {
  const int64_t channels = int64_t{64} << index, stride = index == 0 ? 1 : 2;
  if (!bottleneck)
    return stage<BasicBlock>(blocks, index == 0 ? 64 : channels / 2, channels, channels, stride);
  const int64_t in_channels = index == 0 ? 64 : channels / 2 * expansion;
  return stage<Bottleneck>(blocks, in_channels, channels, channels * expansion, stride);
}

Conv2d stem_convolution(ResNetStem stem) {
  return stem == ResNetStem::cifar ? convolution(3, 64, 3) : convolution(3, 64, 7, 2);
}

}  // namespace

BasicBlock::BasicBlock(int64_t in_channels, int64_t channels, int64_t stride)
    : conv1(convolution(in_channels, channels, 3, stride)),
      conv2(convolution(channels, channels, 3)),
      bn1(channels),
      bn2(channels),
      downsample(shortcut(in_channels, channels, stride)) {}

Tensor BasicBlock::forward(const Tensor& x) {
  const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  return relu(y + downsample(x));
}

void BasicBlock::members(Visitor& visitor) {
  visitor.module("conv1", conv1);
  visitor.module("bn1", bn1);
  visitor.module("conv2", conv2);
  visitor.module("bn2", bn2);
  if (downsample.size() > 0) visitor.module("downsample", downsample);
}

Bottleneck::Bottleneck(int64_t in_channels, int64_t channels, int64_t stride)
    : conv1(convolution(in_channels, channels, 1)),
      conv2(convolution(channels, channels, 3, stride)),
      conv3(convolution(channels, channels * expansion, 1)),
      bn1(channels),
      bn2(channels),
      bn3(channels * expansion),
      downsample(shortcut(in_channels, channels * expansion, stride)) {}

Tensor Bottleneck::forward(const Tensor& x) {
  const Tensor y = relu(bn2(conv2(relu(bn1(conv1(x))))));
  return relu(bn3(conv3(y)) + downsample(x));
}

void Bottleneck::members(Visitor& visitor) {
  visitor.module("conv1", conv1);
  visitor.module("bn1", bn1);
  visitor.module("conv2", conv2);
  visitor.module("bn2", bn2);
  visitor.module("conv3", conv3);
  visitor.module("bn3", bn3);
  if (downsample.size() > 0) visitor.module("downsample", downsample);
}

ResNet::ResNet(const std::array<int64_t, 4>& blocks, bool bottleneck, const ResNetOptions& options)
    : conv1(stem_convolution(options.stem)),
      bn1(64),
      layer1(stage_of(0, blocks[0], bottleneck)),
      layer2(stage_of(1, blocks[1], bottleneck)),
      layer3(stage_of(2, blocks[2], bottleneck)),
      layer4(stage_of(3, blocks[3], bottleneck)),
      fc(bottleneck ? 512 * expansion : 512, options.num_classes),
      stem_(options.stem) {
  each_module([](const std::string&, Module& module) {
    if (const auto* convolution = dynamic_cast<Conv2d*>(&module))
      init::kaiming_normal_(convolution->weight,
                            {.mode = init::FanMode::fan_out, .nonlinearity = init::Nonlinearity::relu});
  });
}

Tensor ResNet::forward(const Tensor& x) {
  Tensor y = relu(bn1(conv1(x)));
  if (stem_ == ResNetStem::imagenet) y = max_pool2d(y, 3, {.stride = Size2(2), .padding = 1});
  y = layer4(layer3(layer2(layer1(y))));
  return fc(mean(y, {2, 3}));
}

void ResNet::members(Visitor& visitor) {
  visitor.module("conv1", conv1);
  visitor.module("bn1", bn1);
  visitor.module("layer1", layer1);
  visitor.module("layer2", layer2);
  visitor.module("layer3", layer3);
  visitor.module("layer4", layer4);
  visitor.module("fc", fc);
}

ResNet resnet18(const ResNetOptions& options) { return ResNet({2, 2, 2, 2}, false, options); }
ResNet resnet34(const ResNetOptions& options) { return ResNet({3, 4, 6, 3}, false, options); }
ResNet resnet50(const ResNetOptions& options) { return ResNet({3, 4, 6, 3}, true, options); }

}  // namespace tern::nn::models
