// Copies of a module on several devices that train the one module.
#pragma once

#include <tern/core/device.h>
#include <tern/nn/module.h>

#include <memory>
#include <span>
#include <vector>

namespace tern::nn::parallel {

namespace detail {
/// Sets each tensor of `replica`, a copy of `module`, to that of `module` copied to `device`, differentiably;
/// ties survive, and tensors that are there already are shared. Returns false, and changes nothing, when the
/// members of the two are no longer the same.
bool refresh(Module& module, Module& replica, Device device);
/// Throws Error for no devices, one that does not exist, and one that is there twice.
void check_replicable(Module& module, std::span<const Device> devices);
}  // namespace detail

/// A copy of `module` for each of `devices`. Its parameters are the module's, copied by a recorded operation:
/// backward() adds the gradients of all replicas to those of the module, whose weights alone an optimizer
/// trains. Its buffers are copies, and what a replica writes into them (running statistics) is lost. On a
/// device where a tensor lies already it is shared: a replica there changes the module's own buffers. Copying
/// is as copying a module, training flag included. As torch.nn.parallel.replicate.
///
/// Throws Error for devices that are none, the same twice or not there, and for a module whose copies are of
/// another type or share members by pointer.
template <std::derived_from<Module> M>
std::vector<M> replicate(const M& module, const std::vector<Device>& devices) {
  M source = module;
  detail::check_replicable(source, devices);
  std::vector<M> replicas(devices.size(), module);
  for (size_t i = 0; i < devices.size(); ++i) detail::refresh(source, replicas[i], devices[i]);
  return replicas;
}

}  // namespace tern::nn::parallel
