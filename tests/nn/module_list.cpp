#include <tern/autograd/operators.h>
#include <tern/nn/check_layer.h>
#include <tern/nn/linear.h>
#include <tern/nn/module_list.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

struct Tower : nn::Layer<Tower> {
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (nn::Linear& layer : layers) y = tanh(layer(y));
    return y;
  }
  void members(nn::Visitor& visitor) override { visitor.module("layers", layers); }
  nn::ModuleList<nn::Linear> layers = nn::ModuleList<nn::Linear>::repeat(3, [] { return nn::Linear(4, 4); });
};

}  // namespace

TEST_CASE("ModuleList holds modules of their own, in order, by number") {
  nn::check_layer(Tower(), scattered({2, 4}, -1, 1, float32));
  Tower tower;
  CHECK(tower.layers.size() == 3);
  CHECK(tower.parameters().size() == 6);
  CHECK(tower.state_dict().contains("layers.2.weight"));
  CHECK_FALSE(equal(tower.layers[0].weight, tower.layers[1].weight));
  tower.layers.push_back(nn::Linear(4, 2));
  CHECK(tower(scattered({2, 4}, -1, 1, float32)).shape() == Shape{2, 2});
  CHECK(fails_with("ModuleList: there is no module 4 among 4", [&] { tower.layers[4]; }));
  CHECK(fails_with("count must not be negative",
                   [] { nn::ModuleList<nn::Linear>::repeat(-1, [] { return nn::Linear(1, 1); }); }));
}
