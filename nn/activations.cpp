#include <tern/nn/activations.h>

#include <fmt/format.h>

namespace tern::nn {

std::string LeakyReLU::describe() const {
  return fmt::format("LeakyReLU(negative_slope={})", negative_slope_);
}

std::string ELU::describe() const { return fmt::format("ELU(alpha={})", alpha_); }

std::string GELU::describe() const {
  return fmt::format("GELU(approximate='{}')", approximate_ == GeluApproximation::tanh ? "tanh" : "none");
}

std::string Softplus::describe() const {
  return fmt::format("Softplus(beta={}, threshold={})", beta_, threshold_);
}

std::string Softmax::describe() const { return fmt::format("Softmax(dim={})", dim_); }

std::string LogSoftmax::describe() const { return fmt::format("LogSoftmax(dim={})", dim_); }

}  // namespace tern::nn
