#include <tern/distributed/data_parallel.h>

namespace tern::nn::parallel {

std::vector<Device> all_devices() {
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(cpu_device_count()));
  for (int i = 0; i < cpu_device_count(); ++i) devices.emplace_back(DeviceType::cpu, i);
  return devices;
}

namespace detail {
namespace {

void check_place(Module& module, Device device) {
  module.each_tensor([&](const std::string& name, const Tensor& tensor) {
    check(tensor.device() == device, "DataParallel: the module must lie on ", device,
          ", the first of device_ids, but ", name, " is on ", tensor.device(), "; move it by to(Device(\"",
          device, "\"))");
  });
}

}  // namespace

Replicas::Replicas(DataParallelOptions options)
    : options_(std::move(options)), threads_(std::make_unique<Threads>()) {
  check_devices(options_.device_ids, "DataParallel");
  check_device(output_device());
}

std::vector<Module*> Replicas::modules(Module& module, size_t count) {
  check_place(module, options_.device_ids[0]);
  if (copies_.empty() && count > 1) check_replicable(module, options_.device_ids);
  if (copies_.size() + 1 < count) copies_.resize(count - 1);
  std::vector<Module*> modules{&module};
  for (size_t i = 1; i < count; ++i) {
    std::unique_ptr<Module>& copy = copies_[i - 1];
    if (!copy || !refresh(module, *copy, options_.device_ids[i])) {
      copy = module.copy();
      refresh(module, *copy, options_.device_ids[i]);
    }
    modules.push_back(copy.get());
  }
  return modules;
}

}  // namespace detail
}  // namespace tern::nn::parallel
