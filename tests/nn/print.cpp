// Modules print as in PyTorch.
#include <tern/nn/attention.h>
#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/losses.h>
#include <tern/nn/normalization.h>
#include <tern/nn/sequential.h>

#include <doctest/doctest.h>

#include <sstream>

using namespace tern;

namespace {

template <class Module>
std::string print(const Module& module) {
  std::ostringstream text;
  text << module;
  return text.str();
}

struct Net : nn::Layer<Net> {
  nn::Sequential features{nn::Linear(2, 3), nn::ReLU()};
  nn::Linear head{3, 1, {.bias = false}};
  Tensor forward(const Tensor& x) { return head(features(x)); }
  void members(nn::Visitor& visitor) override {
    visitor.module("features", features);
    visitor.module("head", head);
  }
};

// Says more about itself than its children do.
struct Scaled : Net {
  std::string describe() const override { return "Scaled(by=2)"; }
};

struct Bare : Net {
  std::string describe() const override { return "Bare"; }
};

}  // namespace

TEST_CASE("layers print their arguments") {
  CHECK(print(nn::Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=true)");
  CHECK(print(nn::Conv2d(3, 6, 5)) == "Conv2d(3, 6, kernel_size=(5, 5), stride=(1, 1))");
  CHECK(print(nn::Conv2d(4, 6, {1, 2},
                         {.stride = 2, .padding = {1, 0}, .dilation = 3, .groups = 2, .bias = false})) ==
        "Conv2d(4, 6, kernel_size=(1, 2), stride=(2, 2), padding=(1, 0), dilation=(3, 3), groups=2, "
        "bias=false)");
  CHECK(print(nn::ReLU()) == "ReLU()");
  CHECK(print(nn::Tanh()) == "Tanh()");
  CHECK(print(nn::LogSoftmax(1)) == "LogSoftmax(dim=1)");
  CHECK(print(nn::Flatten()) == "Flatten(start_dim=1, end_dim=-1)");
  CHECK(print(nn::MaxPool2d(2, {.padding = 1})) ==
        "MaxPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(1, 1), dilation=(1, 1), ceil_mode=false)");
  CHECK(print(nn::Upsample({.scale_factor = Scale2(2, 1.5)})) ==
        "Upsample(scale_factor=(2, 1.5), mode=nearest)");
  CHECK(print(nn::Upsample({.size = 4, .mode = InterpolateMode::bilinear, .align_corners = true})) ==
        "Upsample(size=(4, 4), mode=bilinear, align_corners=true)");
  CHECK(print(nn::MultiheadAttention(4, 2)) ==
        "MultiheadAttention(embed_dim=4, num_heads=2, dropout=0, batch_first=false\n"
        "  (out_proj): Linear(in_features=4, out_features=4, bias=true)\n)");
  CHECK(print(nn::MaxPool1d(2)) ==
        "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=false)");
  CHECK(print(nn::AvgPool2d({2, 3}, {.stride = 1})) ==
        "AvgPool2d(kernel_size=(2, 3), stride=(1, 1), padding=(0, 0))");
  CHECK(print(nn::AdaptiveAvgPool2d({std::nullopt, 2})) == "AdaptiveAvgPool2d(output_size=(none, 2))");
  CHECK(print(nn::Conv1d(2, 4, 3, {.stride = 2, .padding = 1, .dilation = 2, .groups = 2, .bias = false})) ==
        "Conv1d(2, 4, kernel_size=(3,), stride=(2,), padding=(1,), dilation=(2,), groups=2, bias=false)");
  CHECK(print(nn::ConvTranspose2d(2, 4, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2})) ==
        "ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1), "
        "groups=2)");
  CHECK(print(nn::BatchNorm2d(3)) ==
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=true, bias=true, track_running_stats=true)");
  CHECK(print(nn::BatchNorm1d(3, {.momentum = std::nullopt, .affine = false})) ==
        "BatchNorm1d(3, eps=1e-05, momentum=none, affine=false, bias=false, track_running_stats=true)");
  CHECK(print(nn::LayerNorm({2, 3})) == "LayerNorm((2, 3), eps=1e-05, elementwise_affine=true, bias=true)");
  CHECK(print(nn::GroupNorm(2, 4)) == "GroupNorm(2, 4, eps=1e-05, affine=true, bias=true)");
  CHECK(print(nn::RMSNorm(3)) == "RMSNorm((3,), eps=none, elementwise_affine=true)");
  CHECK(print(nn::Dropout(0.25)) == "Dropout(p=0.25)");
  CHECK(print(nn::LeakyReLU()) == "LeakyReLU(negative_slope=0.01)");
  CHECK(print(nn::ELU()) == "ELU(alpha=1)");
  CHECK(print(nn::GELU()) == "GELU(approximate='none')");
  CHECK(print(nn::Softplus()) == "Softplus(beta=1, threshold=20)");
  CHECK(print(nn::Softmax(-1)) == "Softmax(dim=-1)");
  CHECK(print(nn::Dropout2d(0.5)) == "Dropout2d(p=0.5)");
  CHECK(print(nn::SiLU()) == "SiLU()");
  CHECK(print(nn::CrossEntropyLoss()) == "CrossEntropyLoss()");
}

TEST_CASE("a tree of modules prints indented") {
  const std::string children =
      "\n"
      "  (features): Sequential(\n"
      "    (0): Linear(in_features=2, out_features=3, bias=true)\n"
      "    (1): ReLU()\n"
      "  )\n"
      "  (head): Linear(in_features=3, out_features=1, bias=false)\n"
      ")";
  CHECK(print(Net()) == "Net(" + children);
  CHECK(print(Scaled()) == "Scaled(by=2" + children);
  CHECK(print(Bare()) == "Bare(" + children);
  CHECK(print(nn::Sequential()) == "Sequential()");
}
