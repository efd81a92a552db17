#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {
namespace {

using namespace tern;

const Shape square = {1024, 1024};

Cases arithmetic() {
  const Input x = normal(square);
  return {
      {"add", forward([](auto& a, auto& b) { return a + b; }, x, x)},
      {"mul by row", forward([](auto& a, auto& b) { return a * b; }, x, normal({1024}))},
      {"mul by number", forward([](auto& a) { return a * 0.5; }, x)},
      {"add_", forward([](auto& a) { return add_(a, 0.0); }, x)},
      {"add bfloat16", forward([](auto& a) { return a + a; }, normal(square, bfloat16))},
      {"add float16", forward([](auto& a) { return a + a; }, normal(square, float16))},
      {"add int64",
       forward([](auto& a, auto& b) { return a + b; }, integers(100, square), integers(100, square))},
      {"add of 16", forward([](auto& a, auto& b) { return a + b; }, normal({16}), normal({16}))},
      {"pow by number", forward([](auto& a) { return pow(a, 2.5); }, positive(square))},
      {"pow", forward([](auto& a, auto& b) { return pow(a, b); }, positive(square), x)},
      {"less", forward([](auto& a, auto& b) { return a < b; }, x, x)},
      {"greater than number", forward([](auto& a) { return a > 0; }, x)},
      {"equal int64",
       forward([](auto& a, auto& b) { return a == b; }, integers(100, square), integers(100, square))},
      {"where", forward([](auto& a, auto& b) { return where(a > 0, a, b); }, x, x)},
      {"mul and backward", both([](auto& a, auto& b) { return a * b; }, x, x)},
  };
}

Cases functions() {
  const Input x = normal(square);
  return {
      {"exp", forward([](auto& a) { return tern::exp(a); }, x)},
      {"tanh", forward([](auto& a) { return tern::tanh(a); }, x)},
      {"sigmoid", forward([](auto& a) { return sigmoid(a); }, x)},
      {"erf", forward([](auto& a) { return tern::erf(a); }, x)},
      {"relu", forward([](auto& a) { return relu(a); }, x)},
      {"leaky_relu", forward([](auto& a) { return leaky_relu(a); }, x)},
      {"gelu", forward([](auto& a) { return gelu(a); }, x)},
      {"silu", forward([](auto& a) { return silu(a); }, x)},
      {"softplus", forward([](auto& a) { return softplus(a); }, x)},
      {"dropout", forward([](auto& a) { return dropout(a); }, x)},
      {"gelu and backward", both([](auto& a) { return gelu(a); }, x)},
      {"silu and backward", both([](auto& a) { return silu(a); }, x)},
      {"softplus and backward", both([](auto& a) { return softplus(a); }, x)},
      {"dropout and backward", both([](auto& a) { return dropout(a); }, x)},
  };
}

}  // namespace

Cases pointwise_cases() {
  Cases cases = arithmetic();
  for (Case& one : functions()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace benchmarks
