// ResNets from weights that a hash gives (tests/golden/golden_resnet.py): PyTorch's losses and logits.
#include <tern/tern.h>
#include <tern/tests/support/golden.h>
#include <tern/tests/support/synthetic.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t batch_size = 16;

void fill_with_hash(const Tensor& weight, uint32_t number) {
  const int64_t fan_in = weight.numel() / weight.size(0);
  const auto bound = static_cast<float>(std::sqrt(3.0 / static_cast<double>(fan_in)));
  for (int64_t i = 0; i < weight.numel(); ++i) {
    const uint32_t bits = mix(0x40000000 + number * 0x01000000 + static_cast<uint32_t>(i)) & 0xffff;
    weight.data<float>()[i] = (static_cast<float>(bits) / 32768.0F - 1.0F) * bound;
  }
}

// Weights as golden_resnet.py describes them.
nn::models::ResNet filled(nn::models::ResNet model, DType dtype) {
  uint32_t number = 0;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (parameter.dim() >= 2)
      fill_with_hash(parameter, number);
    else
      nn::init::constant_(parameter, name.ends_with("weight") ? 1 : 0);
    ++number;
  }
  model.to(dtype);
  return model;
}

void check_losses(DType dtype, MemoryFormat format, double tolerance) {
  const auto golden = load_safetensors(golden_path("resnet.safetensors")).tensors;
  const Tensor expected = to(golden.at("losses/" + std::string(name(dtype))), float64);
  nn::models::ResNet model =
      filled(nn::models::resnet18({.num_classes = 10, .stem = nn::models::ResNetStem::cifar}), dtype);
  optim::SGD optimizer(model.parameters(), {.lr = 2e-4, .momentum = 0.9, .weight_decay = 5e-4});
  for (uint32_t step = 0; step < 10; ++step) {
    const Batch batch = synthetic_batch(step);
    const Tensor images = contiguous(to(narrow(batch.images, 0, 0, batch_size), dtype), format);
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(images), narrow(batch.labels, 0, 0, batch_size));
    backward(loss);
    optimizer.step();
    const double want = expected.data<double>()[step];
    CAPTURE(step);
    CHECK(std::abs(loss.item<double>() - want) <= tolerance * want);
  }
}

void check_logits(const std::string& name, nn::models::ResNet model) {
  const auto golden = load_safetensors(golden_path("resnet.safetensors")).tensors;
  model = filled(std::move(model), float64);
  model.eval();
  const NoGradGuard no_grad;
  CHECK(agrees(model(to(narrow(synthetic_batch(0).images, 0, 0, 2), float64)), golden.at("logits/" + name)));
}

}  // namespace

TEST_CASE("ten steps of ResNet-18 from the same weights have PyTorch's losses") {
  check_losses(float64, MemoryFormat::contiguous, 1e-7);
  check_losses(float32, MemoryFormat::channels_last, 1e-4);
}

TEST_CASE("ResNet-34 and ResNet-50 compute what torchvision's structure computes") {
  check_logits("resnet34", nn::models::resnet34({.num_classes = 10, .stem = nn::models::ResNetStem::cifar}));
  check_logits("resnet50", nn::models::resnet50({.num_classes = 10}));
}

TEST_CASE("ResNet's parameters have torchvision's names and numbers") {
  const auto model = nn::models::resnet18();
  CHECK(model.num_parameters() == 11'689'512);
  CHECK(nn::models::resnet50().num_parameters() == 25'557'032);
  const TensorMap state = model.state_dict();
  CHECK(state.size() == 122);
  for (const char* name :
       {"conv1.weight", "bn1.running_var", "layer1.0.conv1.weight", "layer2.0.downsample.0.weight",
        "layer2.0.downsample.1.num_batches_tracked", "layer4.1.bn2.bias", "fc.bias"})
    CHECK_MESSAGE(state.contains(name), name);
}
