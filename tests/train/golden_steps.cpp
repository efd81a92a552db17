// The tutorial's training from PyTorch's initial weights and in its order of batches gives PyTorch's losses.
#include <tern/tern.h>
#include <tern/tests/support/golden.h>
#include <tern/tests/support/synthetic.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int steps = 10;

double sum_of(const Tensor& x) { return sum(to(x, float64)).item<double>(); }

// The model as PyTorch made it, in `dtype`.
nn::Sequential golden_model(const TensorMap& golden, DType dtype) {
  nn::Sequential model = nn::models::cifar_cnn();
  TensorMap state;
  for (const auto& [name, value] : golden) {
    if (name.find('/') == std::string::npos) state[name] = value;
  }
  model.load_state_dict(state);
  model.to(dtype);
  return model;
}

std::vector<double> train(nn::Sequential& model, DType dtype, MemoryFormat format) {
  nn::CrossEntropyLoss loss_function;
  optim::SGD optimizer(model.parameters(), {.lr = 0.01, .momentum = 0.9});
  std::vector<double> losses;
  for (uint32_t step = 0; step < steps; ++step) {
    const Batch batch = synthetic_batch(step);
    optimizer.zero_grad();
    const Tensor loss = loss_function(model(contiguous(to(batch.images, dtype), format)), batch.labels);
    backward(loss);
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

void check_run(DType dtype, const std::string& name, MemoryFormat format, double tolerance) {
  const auto golden = load_safetensors(golden_path("cifar_cnn.safetensors")).tensors;
  nn::Sequential model = golden_model(golden, dtype);
  const std::vector<double> losses = train(model, dtype, format);
  const Tensor expected = to(golden.at("losses/" + name), float64);
  for (int step = 0; step < steps; ++step) {
    const double want = expected.data<double>()[step], got = losses[static_cast<size_t>(step)];
    CAPTURE(step);
    CHECK(std::abs(got - want) <= tolerance * std::abs(want));
  }
  for (const auto& [parameter, value] : model.state_dict()) {
    const std::string prefix = "final/" + name + "/" + parameter;
    const double scale = golden.at(prefix + "/abs_sum").item<double>();
    CAPTURE(prefix);
    CHECK(std::abs(sum_of(value) - golden.at(prefix + "/sum").item<double>()) <= tolerance * scale);
    CHECK(std::abs(sum_of(relu(value)) + sum_of(relu(-value)) - scale) <= tolerance * scale);
    const Tensor head = narrow(reshape(contiguous(value), {-1}), 0, 0, 8);
    CHECK(agrees(to(head, float64), to(golden.at(prefix + "/head"), float64), 100 * tolerance));
  }
}

}  // namespace

TEST_CASE("the first ten losses are PyTorch's: float32, as loaders give the images") {
  check_run(float32, "float32", MemoryFormat::channels_last, 1e-5);
}

TEST_CASE("the first ten losses are PyTorch's: float32, contiguous images") {
  check_run(float32, "float32", MemoryFormat::contiguous, 1e-5);
}

TEST_CASE("the first ten losses are PyTorch's: float64") {
  check_run(float64, "float64", MemoryFormat::contiguous, 1e-9);
}
