// LSTM and GRU against PyTorch's, and their rules.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/core/thread_pool.h>
#include <tern/nn/check_layer.h>
#include <tern/nn/recurrent.h>
#include <tern/tests/support/golden.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

nn::RecurrentOptions options_of(const Parameters& p) {
  nn::RecurrentOptions options;
  if (p.has("num_layers")) options.num_layers = static_cast<int64_t>(p.number("num_layers"));
  if (p.has("bias")) options.bias = p.flag("bias");
  if (p.has("batch_first")) options.batch_first = p.flag("batch_first");
  if (p.has("bidirectional")) options.bidirectional = p.flag("bidirectional");
  return options;
}

// Makes the layer's parameters be the case's, so that gradients arrive there.
template <class Layer>
void take_parameters(Layer& layer, const std::vector<Tensor>& inputs, size_t first) {
  layer.each_tensor([&](const std::string&, Tensor& parameter) { parameter = inputs.at(first++); });
}

}  // namespace

TEST_CASE("LSTM and GRU compute what PyTorch's do, value and gradients, in all their forms") {
  const GoldenTable table{
      {"lstm",
       [](const std::vector<Tensor>& x, const Parameters& p) -> std::vector<Tensor> {
         nn::LSTM layer(3, 5, options_of(p));
         take_parameters(layer, x, 3);
         const RecurrentOutput y = layer(x[0], x[1], x[2]);
         return {y.output, y.h_n, y.c_n};
       }},
      {"gru", [](const std::vector<Tensor>& x, const Parameters& p) -> std::vector<Tensor> {
         nn::GRU layer(3, 5, options_of(p));
         take_parameters(layer, x, 2);
         const RecurrentOutput y = layer(x[0], x[1]);
         return {y.output, y.h_n};
       }}};
  CHECK(golden_problems("recurrent.safetensors", table) == "");
}

namespace {

// Layers whose result is one tensor, for check_layer(): outputs and last states together.
struct WholeLSTM : nn::Layer<WholeLSTM> {
  explicit WholeLSTM(const nn::RecurrentOptions& options) : inner(3, 4, options) {}
  Tensor forward(const Tensor& x) {
    const RecurrentOutput y = inner(x);
    return cat({flatten(y.output), flatten(y.h_n * 2.0), flatten(y.c_n * 3.0)});
  }
  void members(nn::Visitor& visitor) override { visitor.module("inner", inner); }
  nn::LSTM inner;
};

struct WholeGRU : nn::Layer<WholeGRU> {
  explicit WholeGRU(const nn::RecurrentOptions& options) : inner(3, 4, options) {}
  Tensor forward(const Tensor& x) {
    const RecurrentOutput y = inner(x);
    return cat({flatten(y.output), flatten(y.h_n * 2.0)});
  }
  void members(nn::Visitor& visitor) override { visitor.module("inner", inner); }
  nn::GRU inner;
};

}  // namespace

TEST_CASE("LSTM and GRU are sound layers, the last states' gradients included") {
  const Tensor x = scattered({3, 2, 3}, -1, 1, float32);
  for (const nn::RecurrentOptions& options :
       {nn::RecurrentOptions{}, nn::RecurrentOptions{.num_layers = 2, .dropout = 0.3, .bidirectional = true},
        nn::RecurrentOptions{.bias = false, .batch_first = true}}) {
    nn::check_layer(WholeLSTM(options), x);
    nn::check_layer(WholeGRU(options), x);
  }
}

TEST_CASE("recurrent layers give the same bits for any number of threads, also over many samples") {
  manual_seed(0);
  nn::LSTM lstm(19, 33, {.bidirectional = true});
  nn::GRU gru(19, 33);
  const Tensor x = scattered({7, 300, 19}, -1, 1, float32).requires_grad_();
  const auto results = [&] {
    std::vector<Tensor> all;
    lstm.zero_grad();
    x.set_grad(Tensor());
    const RecurrentOutput y = lstm(x);
    backward(sum(y.output * y.output) + sum(y.c_n) + sum(gru(x).output));
    all.insert(all.end(), {y.output.detach(), y.c_n.detach(), x.grad()});
    for (const Tensor& p : lstm.parameters()) all.push_back(p.grad());
    return all;
  };
  const int before = get_num_threads();
  set_num_threads(1);
  const auto one = results();
  set_num_threads(3);
  const auto three = results();
  set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) CHECK(bits_equal(one[i], three[i]));
}

TEST_CASE("half types of recurrent layers compute in float32; empty sequences and batches pass") {
  const Tensor x = scattered({3, 2, 3}, -1, 1, float32);
  nn::LSTM lstm(3, 4);
  const Tensor wide = lstm(x).output.detach();
  lstm.to(bfloat16);
  const Tensor narrow = lstm(to(x, bfloat16)).output;
  CHECK(narrow.dtype() == bfloat16);
  CHECK(distance(to(narrow.detach(), float32), wide) < 0.02);
  nn::LSTM fresh(3, 4);
  const RecurrentOutput none = fresh(empty({0, 2, 3}));
  CHECK(none.output.shape() == Shape{0, 2, 4});
  CHECK(equal(none.h_n, none.c_n));
  CHECK(fresh(empty({3, 0, 3})).output.shape() == Shape{3, 0, 4});
  CHECK(nn::GRU(3, 4)(empty({0, 2, 3})).output.shape() == Shape{0, 2, 4});
  backward(sum(fresh(empty({0, 2, 3})).h_n) + sum(fresh(empty({3, 0, 3})).output));
  for (const Tensor& p : fresh.parameters()) CHECK(equal(p.grad(), p.detach() * 0));
}

TEST_CASE("recurrent layers refuse what does not fit") {
  nn::LSTM lstm(3, 4);
  CHECK(fails_with("LSTM: needs [T, N, 3] or [T, 3], got [2, 2, 4]", [&] { lstm(empty({2, 2, 4})); }));
  CHECK(fails_with("LSTM: a start state must be [1, 2, 4], got [1, 3, 4]", [&] {
    lstm(empty({2, 2, 3}), empty({1, 3, 4}), empty({1, 2, 4}));
  }));
  CHECK(fails_with("GRU: input_size, hidden_size and num_layers", [] { nn::GRU(0, 4); }));
  CHECK(fails_with("LSTM: dropout must be from 0 to 1", [] { nn::LSTM(3, 4, {.dropout = 2}); }));
  CHECK(fails_with("lstm: needs a floating-point tensor", [&] { lstm(empty({2, 2, 3}, int64)); }));
  CHECK(fails_with("lstm: weight_hh must be [16, 4]", [] {
    tern::lstm(empty({2, 2, 3}), empty({2, 4}), empty({2, 4}), empty({16, 3}), empty({16, 5}));
  }));
}
