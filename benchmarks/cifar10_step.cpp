// Times a training step of the tutorial's CNN, batch 128: zero_grad, forward, backward, SGD step.
// Prints one line of JSON: {"threads":N,"median_ms":X,"min_ms":Y,"steps":K}. benchmarks/cifar10_step.sh
// compares it with PyTorch.
#include <tern/tern.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>

using namespace tern;

int main(int argc, char** argv) {
  int threads = get_num_threads(), steps = 20;
  CLI::App app("A training step of the tutorial's CNN");
  app.add_option("--threads", threads)->check(CLI::PositiveNumber);
  app.add_option("--steps", steps)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  set_num_threads(threads);

  nn::Sequential model = nn::models::cifar_cnn();
  nn::CrossEntropyLoss loss_function;
  optim::SGD optimizer(model.parameters(), {.lr = 0.01, .momentum = 0.9});
  const Tensor images = contiguous(randn({128, 3, 32, 32}), MemoryFormat::channels_last);
  const Tensor labels = randint(0, 10, {128});

  std::vector<double> milliseconds;
  for (int step = 0; step < steps + 3; ++step) {
    const auto start = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    backward(loss_function(model(images), labels));
    optimizer.step();
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    if (step >= 3) milliseconds.push_back(passed.count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  fmt::print("{{\"threads\":{},\"median_ms\":{:.3f},\"min_ms\":{:.3f},\"steps\":{}}}\n", threads,
             milliseconds[milliseconds.size() / 2], milliseconds.front(), steps);
}
