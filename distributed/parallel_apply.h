// Running modules at the same time, each on a thread of its own.
#pragma once

#include <tern/autograd/thread_modes.h>
#include <tern/core/device.h>
#include <tern/distributed/nested.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace tern::nn::parallel {

namespace detail {

/// Threads that wait between calls of run(). Belongs to one thread at a time.
class Threads {
 public:
  Threads();
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Calls task(i) for each i below devices.size(), at the same time: 0 here, the others on threads of their
  /// own with this thread's modes. Returns when all have ended; then throws the first one's error, with
  /// `caller` and its device in front.
  void run(std::span<const Device> devices, const char* caller, const std::function<void(size_t)>& task);

 private:
  struct Shared;
  void start(size_t count);
  void stop();

  std::unique_ptr<Shared> shared_;
};

/// What function(i) returned, for each device.
template <class Function>
auto run_all(Threads& threads, std::span<const Device> devices, const char* caller,
             const Function& function) {
  using Output = std::decay_t<std::invoke_result_t<const Function&, size_t>>;
  std::vector<std::optional<Output>> slots(devices.size());
  threads.run(devices, caller, [&](size_t i) { slots[i].emplace(function(i)); });
  std::vector<Output> outputs;
  outputs.reserve(slots.size());
  for (auto& slot : slots) outputs.push_back(std::move(*slot));
  return outputs;
}

/// The device of the first tensor in `value`; cpu:0 without any.
template <class T>
Device device_in(const T& value) {
  std::optional<Device> device;
  each_tensor(value, [&](const Tensor& x) {
    if (!device && x.defined()) device = x.device();
  });
  return device.value_or(Device());
}

}  // namespace detail

/// modules[i](inputs[i]…) for each i, at the same time. An input is a tuple of what the module takes. The
/// thread's modes (recording or not, anomaly detection, a checkpoint's second run) hold in all. `devices` are
/// those of the modules, by default those of the first tensor of each input; errors name them. An exception
/// comes out once all modules have ended, that of the first that failed. As torch.nn.parallel.parallel_apply.
///
/// Throws Error unless there are as many modules as inputs (and devices), and at least one.
template <class M, class... Inputs>
auto parallel_apply(std::vector<M>& modules, const std::vector<std::tuple<Inputs...>>& inputs,
                    std::vector<Device> devices = {}) {
  if (devices.empty()) {
    for (const auto& input : inputs) devices.push_back(detail::device_in(input));
  }
  check(!modules.empty() && modules.size() == inputs.size() && modules.size() == devices.size(),
        "parallel_apply: needs as many inputs and devices as modules, got ", modules.size(), " modules, ",
        inputs.size(), " inputs and ", devices.size(), " devices");
  detail::Threads threads;
  return detail::run_all(threads, devices, "parallel_apply",
                         [&](size_t i) { return std::apply(modules[i], inputs[i]); });
}

/// For modules of one tensor.
template <class M>
auto parallel_apply(std::vector<M>& modules, const std::vector<Tensor>& inputs,
                    std::vector<Device> devices = {}) {
  const std::vector<std::tuple<Tensor>> tuples(inputs.begin(), inputs.end());
  return parallel_apply(modules, tuples, std::move(devices));
}

}  // namespace tern::nn::parallel
