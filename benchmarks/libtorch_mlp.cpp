// The case "MLP 16-16-16 step" of operations.cpp with PyTorch's C++ interface, of the same layers and the
// same loop: what a step costs there without Python. Built with the option libtorch; argument: number of
// threads.
#include <tern/benchmarks/timing.h>

#include <torch/torch.h>

#include <cstdlib>

int main(int argc, char** argv) {
  torch::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  torch::nn::Sequential model(torch::nn::Linear(16, 16), torch::nn::ReLU(), torch::nn::Linear(16, 16));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01));
  const torch::Tensor x = torch::randn({16, 16}), labels = torch::randint(16, {16}, torch::kInt64);
  const auto step = [&] {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(model->forward(x), labels).backward();
    optimizer.step();
  };
  benchmarks::report("MLP 16-16-16 step", step, 5);
}
