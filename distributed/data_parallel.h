// DataParallel: one module on several devices of one process.
//
//   nn::DataParallel model(Net(), {.device_ids = {"cpu:0", "cpu:1"}});
//   optim::SGD optimizer(model.parameters(), {.lr = 0.1});
//   backward(cross_entropy(model(images), labels));
//
// Each call divides the inputs among the devices (scatter.h has the rule), copies the module's weights to
// them (replicate.h), runs all replicas at the same time (parallel_apply.h), and joins their outputs on one
// device. backward() brings all gradients back to the module's parameters, so everything but the call is as
// with the module alone. Values and gradients are those of the module on the whole batch, up to rounding,
// unless the module looks across samples: each replica's batch norm sees its own share.
//
// The module itself runs on the first device, on the caller's thread: what it writes into its buffers there
// (running statistics) stays, what the replicas write into their copies is lost. Replicas and their threads
// are kept between calls (calls from several threads wait for each other); their tensors are new in each.
// They follow the module's weights, structure, training flag and dtype; a plain setting (a dropout's p)
// changed in `module` after the first call does not reach them.
//
// DistributedDataParallel is faster, on one machine too; this needs no processes.
#pragma once

#include <tern/autograd/convert.h>
#include <tern/distributed/parallel_apply.h>
#include <tern/distributed/replicate.h>
#include <tern/distributed/scatter.h>

#include <mutex>
#include <string>

namespace tern::nn {
namespace parallel {

/// All devices of this process that computing is spread over: the virtual CPU devices.
std::vector<Device> all_devices();

struct DataParallelOptions {
  std::vector<Device> device_ids = all_devices();  ///< the module lies on the first
  std::optional<Device> output_device = {};        ///< where outputs are joined; by default device_ids[0]
  int64_t dim = 0;                                 ///< along which samples lie, in inputs and outputs
};

namespace detail {

/// The part of DataParallel that does not depend on the module's type. A copy has replicas and threads of its
/// own, made when they are needed.
class Replicas {
 public:
  /// Throws Error for devices that are none, the same twice or not there.
  explicit Replicas(DataParallelOptions options);
  Replicas(const Replicas& other) : Replicas(other.options_) {}
  Replicas& operator=(const Replicas& other) { return *this = Replicas(other); }
  Replicas(Replicas&&) noexcept = default;
  Replicas& operator=(Replicas&&) noexcept = default;

  const DataParallelOptions& options() const { return options_; }
  Device output_device() const { return options_.output_device.value_or(options_.device_ids[0]); }
  /// The first `count` devices.
  std::span<const Device> devices(size_t count) const { return {options_.device_ids.data(), count}; }
  /// The modules to run on them: `module`, and up-to-date replicas of it. Throws Error, naming the tensor,
  /// when the module does not lie on the first device.
  std::vector<Module*> modules(Module& module, size_t count);
  Threads& threads() { return *threads_; }
  /// Held through a call: replicas and threads serve one at a time.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(*mutex_); }

 private:
  DataParallelOptions options_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::vector<std::unique_ptr<Module>> copies_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace detail

/// As torch.nn.DataParallel. `module` is its one child, so names in state dicts begin with "module.".
template <std::derived_from<Module> M>
class DataParallel : public Layer<DataParallel<M>> {
 public:
  /// Shares the module's tensors. Throws Error for device_ids that are none, the same twice or not there, and
  /// for an output_device that is not there. The module may move to the first device later, by to().
  explicit DataParallel(M wrapped, DataParallelOptions options = {})
      : module(std::move(wrapped)), replicas_(std::move(options)) {}

  /// What the module returns for these inputs: any number of them, tensors or values that hold some
  /// (nested.h), on any device. Outputs are joined by gather(), even of a single part; with a single device
  /// the module is called as it is, and its output moved to output_device.
  ///
  /// Throws Error as scatter(), gather(), and when the module does not lie on the first device. What a
  /// replica throws comes out, with its device in front, when all have ended.
  template <class... Inputs>
  auto forward(const Inputs&... inputs) {
    const auto& options = replicas_.options();
    const auto lock = replicas_.lock();
    using Parts = std::tuple<std::decay_t<const Inputs>...>;
    std::vector<Parts> parts = scatter(Parts(inputs...), options.device_ids, options.dim);
    const std::span<const Device> devices = replicas_.devices(parts.size());
    const std::vector<Module*> modules = replicas_.modules(module, parts.size());
    auto outputs = detail::run_all(replicas_.threads(), devices, "DataParallel", [&](size_t i) {
      return std::apply(static_cast<M&>(*modules[i]), std::as_const(parts[i]));
    });
    const Device target = replicas_.output_device();
    if (options.device_ids.size() > 1) return gather(outputs, target, options.dim);
    detail::each_tensor(outputs[0], [&](Tensor& x) {
      if (x.defined()) x = tern::to(x, target);
    });
    return std::move(outputs[0]);
  }

  void members(Visitor& visitor) override { visitor.module("module", module); }
  std::string describe() const override { return "DataParallel()"; }

  M module;

 private:
  detail::Replicas replicas_;
};

}  // namespace parallel

using parallel::DataParallel;
using parallel::DataParallelOptions;

}  // namespace tern::nn
