#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {
namespace {

using namespace tern;

Cases products() {
  const Shape square = {512, 512};
  const auto product = [](auto& a, auto& b) { return matmul(a, b); };
  return {
      {"matmul", forward(product, normal(square), normal(square))},
      {"matmul float16", forward(product, normal(square, float16), normal(square, float16))},
      {"matmul bfloat16", forward(product, normal(square, bfloat16), normal(square, bfloat16))},
      {"bmm and backward", both(product, normal({32, 128, 64}), normal({32, 64, 128}))},
      {"linear and backward", layer([] { return nn::Linear(512, 512); },
                                    [](auto& linear, auto& x) { return linear(x); }, normal({128, 512}))},
  };
}

Cases softmaxes() {
  const Shape shape = {512, 1000};
  const auto soft = [](auto& x) { return softmax(x, 1); };
  return {
      {"softmax", forward(soft, normal(shape))},
      {"softmax float16", forward(soft, normal(shape, float16))},
      {"softmax and backward", both(soft, normal(shape))},
      {"softmax of columns", forward([](auto& x) { return softmax(x, 0); }, normal(shape))},
      {"log_softmax", forward([](auto& x) { return log_softmax(x, 1); }, normal(shape))},
  };
}

Cases normalizations() {
  const Input x = normal({64, 128, 256}), parameter = normal({256});
  const auto layers = [](auto& a, auto& weight, auto& bias) { return layer_norm(a, {256}, weight, bias); };
  const auto roots = [](auto& a, auto& weight) { return rms_norm(a, {256}, weight); };
  return {
      {"layer_norm", forward(layers, x, parameter, parameter)},
      {"layer_norm and backward", both(layers, x, parameter, parameter)},
      {"rms_norm", forward(roots, x, parameter)},
      {"rms_norm and backward", both(roots, x, parameter)},
  };
}

Cases attention() {
  const Input x = normal({4, 8, 128, 64}), tokens = normal({8, 128, 256});
  const auto all = [](auto& q, auto& k, auto& v) { return scaled_dot_product_attention(q, k, v); };
  const auto causal = [](auto& q, auto& k, auto& v) {
    return scaled_dot_product_attention(q, k, v, {.is_causal = true});
  };
  const auto heads = [] { return nn::MultiheadAttention(256, 4, {.batch_first = true}); };
  const auto encoder = [] {
    return nn::TransformerEncoderLayer(256, 4,
                                       {.dim_feedforward = 1024,
                                        .dropout = 0,
                                        .activation = nn::TransformerActivation::gelu,
                                        .batch_first = true});
  };
  return {
      {"attention", forward(all, x, x, x)},
      {"attention causal", forward(causal, x, x, x)},
      {"attention and backward", both(all, x, x, x)},
      {"attention causal and backward", both(causal, x, x, x)},
      {"MultiheadAttention and backward",
       layer(
           heads, [](auto& module, auto& a) { return module(a, a, a); }, tokens)},
      {"TransformerEncoderLayer and backward",
       layer(
           encoder, [](auto& module, auto& a) { return module(a); }, tokens)},
  };
}

Cases recurrent() {
  const Input x = normal({32, 64, 128});
  const auto output = [](auto& module, auto& a) { return module(a).output; };
  return {
      {"LSTM and backward", layer([] { return nn::LSTM(128, 256); }, output, x)},
      {"GRU and backward", layer([] { return nn::GRU(128, 256); }, output, x)},
      {"embedding and backward", both([](auto& index, auto& weight) { return embedding(index, weight); },
                                      integers(10'000, {64, 64}), normal({10'000, 256}))},
  };
}

}  // namespace

Cases sequence_cases() {
  Cases cases;
  for (Cases (*list)() : {products, softmaxes, normalizations, attention, recurrent})
    for (Case& one : list()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace benchmarks
