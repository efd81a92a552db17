// Times single operations. Prints a line of JSON per case: {"case":NAME,"microseconds":X}, the median over
// `--repeats` of the mean of as many calls as take some milliseconds. benchmarks/operations.sh compares the
// cases with PyTorch's of the same names (operations.py).
#include <tern/tern.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

using namespace tern;

namespace {

using Case = std::function<void()>;
using Cases = std::vector<std::pair<std::string, Case>>;

double seconds_of(const Case& run, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_microseconds(const Case& run, int repeats) {
  run();
  int calls = 1;
  while (seconds_of(run, calls) < 0.005 && calls < 1 << 20) calls *= 2;
  std::vector<double> times;
  times.reserve(static_cast<size_t>(repeats));
  for (int i = 0; i < repeats; ++i) times.push_back(seconds_of(run, calls) / calls * 1e6);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Forward alone.
template <class Function>
Case forward(Function function) {
  return [function] {
    const NoGradGuard no_grad;
    function();
  };
}

// Forward and backward to `leaves`; the upstream gradient is made once.
template <class Function>
Case both(const std::vector<Tensor>& leaves, Function function) {
  for (const Tensor& leaf : leaves) leaf.requires_grad_();
  const Tensor dy = randn(function().shape());
  return [=]() mutable {
    for (const Tensor& leaf : leaves) leaf.set_grad(Tensor());
    backward(function(), {.gradient = dy});
  };
}

void pointwise_cases(Cases& cases) {
  const Tensor a = randn({1024, 1024}), b = randn({1024, 1024}), row = randn({1024}), half = to(a, bfloat16);
  cases.emplace_back("add", forward([=] { return a + b; }));
  cases.emplace_back("mul by row", forward([=] { return a * row; }));
  cases.emplace_back("mul by number", forward([=] { return a * 0.5; }));
  cases.emplace_back("add_", forward([=] { return add_(a, 0.0); }));
  cases.emplace_back("exp", forward([=] { return exp(a); }));
  cases.emplace_back("tanh", forward([=] { return tanh(a); }));
  cases.emplace_back("sigmoid", forward([=] { return sigmoid(a); }));
  cases.emplace_back("relu", forward([=] { return relu(a); }));
  cases.emplace_back("gelu", forward([=] { return gelu(a); }));
  cases.emplace_back("where", forward([=] { return where(a > 0, a, b); }));
  cases.emplace_back("add bfloat16", forward([=] { return half + half; }));
  const Tensor x = randn({1024, 1024});
  cases.emplace_back("gelu and backward", both({x}, [=] { return gelu(x); }));
  cases.emplace_back("add of 16", forward([x = randn({16}), y = randn({16})] { return x + y; }));
  cases.emplace_back("transposed copy", forward([=] { return contiguous(t(a)); }));
}

void reduction_cases(Cases& cases) {
  const Tensor x = randn({1024, 1024});
  cases.emplace_back("sum", forward([=] { return sum(x); }));
  cases.emplace_back("sum of rows", forward([=] { return sum(x, 1); }));
  cases.emplace_back("sum of columns", forward([=] { return sum(x, 0); }));
  cases.emplace_back("mean", forward([=] { return mean(x); }));
  cases.emplace_back("var of rows", forward([=] { return var(x, {1}); }));
  cases.emplace_back("max of rows", forward([=] { return amax(x, {1}); }));
  cases.emplace_back("argmax of rows", forward([=] { return argmax(x, 1); }));
  cases.emplace_back("norm", forward([=] { return norm(x); }));
}

void layer_cases(Cases& cases) {
  const Tensor logits = randn({512, 1000}).requires_grad_(), target = randint(0, 1000, {512});
  cases.emplace_back("softmax", forward([=] { return softmax(logits, 1); }));
  cases.emplace_back("log_softmax", forward([=] { return log_softmax(logits, 1); }));
  cases.emplace_back("cross_entropy and backward",
                     both({logits}, [=] { return cross_entropy(logits, target); }));
  const Tensor m = randn({512, 512}), x = randn({128, 512}).requires_grad_();
  nn::Linear linear(512, 512);
  cases.emplace_back("matmul", forward([=] { return matmul(m, m); }));
  cases.emplace_back("linear and backward",
                     both({x, linear.weight, linear.bias}, [=]() mutable { return linear(x); }));
  nn::LSTM lstm(128, 256);
  const Tensor sequence = randn({32, 64, 128}).requires_grad_();
  cases.emplace_back("LSTM and backward",
                     both(lstm.parameters(), [=]() mutable { return lstm(sequence).output; }));
}

void optimizer_cases(Cases& cases) {
  std::vector<Tensor> parameters;
  for (int i = 0; i < 20; ++i) {
    parameters.push_back(randn({100'000}).requires_grad_());
    parameters.back().set_grad(randn({100'000}));
  }
  const auto sgd = std::make_shared<optim::SGD>(parameters, optim::SGDOptions{.lr = 1e-6, .momentum = 0.9});
  const auto adamw = std::make_shared<optim::AdamW>(parameters, optim::AdamWOptions{.lr = 1e-6});
  cases.emplace_back("SGD step", [=] { sgd->step(); });
  cases.emplace_back("AdamW step", [=] { adamw->step(); });
}

// A step of a network so small that only overhead counts.
void network_cases(Cases& cases) {
  nn::Sequential model(nn::Linear(16, 16), nn::ReLU(), nn::Linear(16, 16));
  const auto optimizer = std::make_shared<optim::SGD>(model.parameters(), optim::SGDOptions{.lr = 0.01});
  const Tensor x = randn({16, 16}), target = randint(0, 16, {16});
  cases.emplace_back("MLP 16-16-16 step", [=]() mutable {
    optimizer->zero_grad();
    backward(cross_entropy(model(x), target));
    optimizer->step();
  });
}

}  // namespace

int main(int argc, char** argv) {
  int threads = get_num_threads(), repeats = 5;
  std::string only;
  CLI::App app("Single operations");
  app.add_option("--threads", threads)->check(CLI::PositiveNumber);
  app.add_option("--repeats", repeats)->check(CLI::PositiveNumber);
  app.add_option("--only", only, "cases whose name holds this text");
  CLI11_PARSE(app, argc, argv);
  set_num_threads(threads);
  Cases cases;
  pointwise_cases(cases);
  reduction_cases(cases);
  layer_cases(cases);
  optimizer_cases(cases);
  network_cases(cases);
  for (const auto& [name, run] : cases) {
    if (name.find(only) == name.npos) continue;
    fmt::print("{{\"case\":\"{}\",\"microseconds\":{:.3f}}}\n", name, median_microseconds(run, repeats));
  }
}
