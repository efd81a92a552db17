#include <tern/nn/embedding.h>

#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/nn/check_layer.h>
#include <tern/nn/linear.h>
#include <tern/nn/sequential.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

using namespace tern;
using namespace tern::tests;

TEST_CASE("Embedding") {
  const Tensor words = tensor({{1, 3, 1}, {0, 4, 1}});
  nn::check_layer(nn::Embedding(5, 3), words);
  nn::check_layer(nn::Embedding(5, 3), tensor(2));
  nn::check_layer(nn::Embedding(6, 2, {.padding_idx = -1}), words);
  nn::check_layer(nn::Sequential(nn::Embedding(5, 3), nn::Linear(3, 2)), words);
  nn::Embedding layer(5, 3);
  CHECK(equal(layer(words), embedding(words, layer.weight)));
  CHECK(layer(empty({2, 0}, int64)).shape() == Shape{2, 0, 3});
  CHECK(fails_with("embedding: index 5 at position 1 is outside a dimension of size 5", [&] {
    layer(tensor({0, 5}));
  }));
}

TEST_CASE("Embedding starts from N(0, 1); its padding row is zero and stays so") {
  manual_seed(3);
  nn::Embedding layer(400, 50, {.padding_idx = -1});
  const Tensor weight = layer.weight.detach(), padding = select(weight, 0, 399);
  CHECK(equal(padding, zeros({50})));
  const Tensor drawn = narrow(weight, 0, 0, 399);
  CHECK(std::abs(mean(drawn).item<float>()) < 0.03);
  CHECK(std::abs(stddev(drawn).item<float>() - 1) < 0.03);
  backward(sum(layer(tensor({399, 0, 399}))));
  CHECK(equal(select(layer.weight.grad(), 0, 399), zeros({50})));
  CHECK(equal(select(layer.weight.grad(), 0, 0), ones({50})));
}

TEST_CASE("Embedding prints as in PyTorch, and refuses sizes and a padding row that are none") {
  std::ostringstream text;
  text << nn::Embedding(10, 3) << ' ' << nn::Embedding(10, 3, {.padding_idx = -1});
  CHECK(text.str() == "Embedding(10, 3) Embedding(10, 3, padding_idx=9)");
  CHECK(fails_with("Embedding: padding_idx must be from -3 to 2, got 3",
                   [] { nn::Embedding(3, 2, {.padding_idx = 3}); }));
  CHECK(fails_with("Embedding: padding_idx must be from", [] { nn::Embedding(0, 2, {.padding_idx = 0}); }));
  CHECK(fails_with("Embedding: sizes must not be negative", [] { nn::Embedding(-1, 2); }));
  CHECK(fails_with("Embedding: sizes must not be negative",
                   [] { nn::Embedding(std::numeric_limits<int64_t>::min(), 2, {.padding_idx = 0}); }));
  CHECK(fails_with("empty: shape", [] { nn::Embedding(std::numeric_limits<int64_t>::max(), 1); }));
}
