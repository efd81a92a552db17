// Errors out of a forward pass name the layer that they come from, as the outermost module sees it.
#include <tern/autograd/functional.h>
#include <tern/distributed/data_parallel.h>
#include <tern/kernels/creation.h>
#include <tern/nn/activations.h>
#include <tern/nn/conv.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/sequential.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

struct Block : nn::Layer<Block> {
  nn::Sequential layers{nn::Linear(2, 3), nn::Tanh(), nn::Linear(4, 5)};
  Tensor forward(const Tensor& x) { return layers(x); }
  void members(nn::Visitor& visitor) override { visitor.module("layers", layers); }
};

struct Net : nn::Layer<Net> {
  Block block;
  nn::Linear head{3, 1};
  bool tries_again = false;
  Tensor forward(const Tensor& x) {
    try {
      return head(block(x));
    } catch (const Error& error) {
      if (tries_again) return head(x);
      throw;
    }
  }
  void members(nn::Visitor& visitor) override {
    visitor.module("block", block);
    visitor.module("head", head);
  }
};

struct Lost : IoError {
  using IoError::IoError;
};

struct Reader : nn::Layer<Reader> {
  Tensor forward(const Tensor&) { throw Lost("no such row"); }
};

}  // namespace

TEST_CASE("a layer is named with what it was made with") {
  nn::Linear linear(3, 2);
  CHECK(message_of([&] {
          linear(ones({1, 4}));
        }).starts_with("Linear(in_features=3, out_features=2, bias=true): linear: "));
}

TEST_CASE("below other modules it is named by its path, however often that happens") {
  Net net;
  for (int i = 0; i < 3; ++i) {
    CHECK(message_of([&] {
            net(ones({1, 2}));
          }).starts_with("block.layers.2, Linear(in_features=4, out_features=5, bias=true): linear: "));
    CHECK(message_of([&] {
            net(ones({1, 5}));
          }).starts_with("block.layers.0, Linear(in_features=2, out_features=3, bias=true): linear: "));
  }
}

TEST_CASE("an error that a module caught does not name what comes after it") {
  Net net;
  net.tries_again = true;
  CHECK(message_of([&] {
          net(ones({1, 2}));
        }).starts_with("head, Linear(in_features=3, out_features=1, bias=true): linear: "));
}

TEST_CASE("layers that Sequential runs in one pass are named, too") {
  const Tensor image = ones({1, 2, 4, 4});
  nn::Sequential conv(nn::Conv2d(3, 4, 3), nn::ReLU(), nn::MaxPool2d(2));
  CHECK(message_of([&] { conv(image); }).starts_with("0, Conv2d(3, 4, "));
  nn::Sequential flat(nn::Conv2d(2, 3, 3, {.padding = 1}), nn::Flatten(), nn::Linear(7, 5));
  CHECK(
      message_of([&] { flat(image); }).starts_with("2, Linear(in_features=7, out_features=5, bias=true): "));
}

TEST_CASE("the type of an error stays") {
  nn::Sequential model{nn::Tanh(), Reader()};
  CHECK_THROWS_AS(model(ones({1})), IoError);
  CHECK(message_of([&] { model(ones({1})); }) == "1, Reader(): no such row");
}

TEST_CASE("a replica's layer is named on its own thread") {
  nn::DataParallel model(Net(), {.device_ids = {"cpu:0"}});
  CHECK(fails_with("block.layers.2, Linear(in_features=4, out_features=5, bias=true): ", [&] {
    model(ones({4, 2}));
  }));
}
