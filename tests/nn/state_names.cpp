// Names of parameters and buffers: PyTorch's, so that its files fit.
#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/models/cifar_cnn.h>
#include <tern/nn/sequential.h>
#include <tern/tests/support/golden.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Names = std::vector<std::string>;

Names names_of(const nn::NamedTensors& tensors) {
  Names names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

Names names_of(const TensorMap& tensors) {
  Names names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

// A shared weight, a buffer, and children of children.
struct Net : nn::Layer<Net> {
  nn::Sequential features{nn::Conv2d(3, 2, 3, {.bias = false}), nn::ReLU(),
                          nn::Sequential(nn::Linear(4, 4), nn::Linear(4, 4))};
  nn::Linear head{4, 4};
  Tensor mean = scattered({2});
  Net() { head.weight = inner()[1].as<nn::Linear>()->weight; }
  nn::Sequential& inner() { return *features[2].as<nn::Sequential>(); }
  Tensor forward(const Tensor& x) { return head(features(x)); }
  void members(nn::Visitor& visitor) override {
    visitor.module("features", features);
    visitor.buffer("mean", mean);
    visitor.module("head", head);
  }
};

}  // namespace

TEST_CASE("parameters come in the order of members, each once; the state has every name") {
  const Net net;
  const Names parameters{"features.0.weight",   "features.2.0.weight", "features.2.0.bias",
                         "features.2.1.weight", "features.2.1.bias",   "head.bias"};
  CHECK(names_of(net.named_parameters()) == parameters);
  CHECK(net.parameters().size() == parameters.size());
  CHECK(names_of(net.named_buffers()) == Names{"mean"});
  CHECK(net.num_parameters() == 2 * 3 * 9 + 2 * (16 + 4) + 4);
  const Names state{"features.0.weight",   "features.2.0.bias", "features.2.0.weight", "features.2.1.bias",
                    "features.2.1.weight", "head.bias",         "head.weight",         "mean"};
  CHECK(names_of(net.state_dict()) == state);
  CHECK(net.state_dict().at("head.weight").is_same(net.state_dict().at("features.2.1.weight")));
}

TEST_CASE("the state holds handles: a change shows in the module") {
  nn::Linear layer(2, 2);
  layer.state_dict().at("weight").data<float>()[0] = 7;
  CHECK(layer.weight.data<float>()[0] == 7);
}

TEST_CASE("the names and shapes of PyTorch's CNN are ours") {
  const nn::Sequential cnn = nn::models::cifar_cnn();
  const Safetensors file = load_safetensors(golden_path("cifar_cnn.safetensors"));
  TensorMap weights;
  for (const auto& [name, tensor] : file.tensors) {
    if (name.find('/') == name.npos) weights[name] = tensor;
  }
  CHECK(weights.size() == 6);
  cnn.load_state_dict(weights);
  CHECK(bits_equal(cnn.state_dict().at("6.weight"), weights.at("6.weight")));
}

TEST_CASE("two members of one name are refused") {
  struct Twice : nn::Layer<Twice> {
    nn::Linear a{1, 1}, b{1, 1};
    Tensor forward(const Tensor& x) { return a(b(x)); }
    void members(nn::Visitor& visitor) override {
      visitor.module("layer", a);
      visitor.module("layer", b);
    }
  };
  CHECK(fails_with("state_dict: two members are named layer.weight", [] { Twice().state_dict(); }));
}
