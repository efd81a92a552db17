// What the tests of DistributedDataParallel share: small models, and training in one process to compare with.
#pragma once

#include <tern/tern.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

namespace tern::tests {

using DdpOptions = nn::DistributedDataParallelOptions;

/// So small that each layer of the models here has a bucket of its own.
inline constexpr double tiny = 200.0 / (1 << 20);

/// Three layers, float64; the same weights each time.
inline nn::Sequential small_net(double scale = 1) {
  nn::Sequential net(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 8), nn::Tanh(), nn::Linear(8, 3));
  net.to(float64);
  int number = 0;
  for (const Tensor& parameter : net.parameters())
    parameter.set_data(scattered(parameter.shape(), -0.5, 0.4 + 0.1 * ++number) * scale);
  return net;
}

/// Inputs and targets of step `step`: `count` rows from `start`.
inline std::pair<Tensor, Tensor> batch(int64_t step, int64_t start, int64_t count) {
  const Tensor x = scattered({64, 6}) + 0.1 * static_cast<double>(step), y = scattered({64, 3}, -1, 1.5);
  return {narrow(x, 0, start, count), narrow(y, 0, start, count)};
}

template <class Model>
Tensor loss_of(Model& model, const std::pair<Tensor, Tensor>& data) {
  return mse_loss(model(data.first), data.second);
}

/// Whether two models have the same parameters and buffers, up to `tolerance`.
inline bool same_state(const nn::Module& got, const nn::Module& want, double tolerance) {
  const auto a = got.state_dict(), b = want.state_dict();
  double worst = a.size() == b.size() ? 0 : 1;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end(); ++x, ++y)
    worst = std::max(worst, distance(x->second, y->second));
  if (!(worst <= tolerance)) MESSAGE("distance ", worst);
  return worst <= tolerance;
}

/// Whether all ranks have the same bits.
inline bool equal_on_all_ranks(const nn::Module& model, const distributed::Group& group) {
  bool all = true;
  for (const auto& [name, tensor] : model.state_dict()) {
    const Tensor first = clone(tensor.detach());
    distributed::broadcast(first, group->ranks()[0], {.group = group});
    all &= bits_equal(first, tensor.detach());
  }
  return all;
}

}  // namespace tern::tests
