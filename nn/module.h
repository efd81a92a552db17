// Modules: values that hold parameters, and the one walk over them from which everything else follows.
//
//   class Net : public nn::Layer<Net> {
//    public:
//     Tensor forward(const Tensor& x) { return head(relu(body(x))); }
//     void members(nn::Visitor& visitor) override {
//       visitor.module("body", body);
//       visitor.module("head", head);
//     }
//     nn::Linear body{784, 128}, head{128, 10};
//   };
//
// A module lists its members once, and the member itself is the only truth: `net.head.weight = other.weight`
// ties two weights, and no list can go stale. Copying a module shares its tensors and its training flag, as
// copying a tensor shares; clone() copies them. A member that is not listed is not a parameter: check_layer()
// (nn/check_layer.h) finds it. A module is used by one thread at a time.
#pragma once

#include <tern/core/error.h>
#include <tern/core/profile.h>
#include <tern/core/safetensors.h>
#include <tern/core/tensor.h>

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tern::kernels {
class BatchPeers;
}

namespace tern::nn {

class Module;

/// What a module shows its members to. Undefined tensors (a bias that is switched off) may be shown and are
/// passed over.
class Visitor {
 public:
  virtual ~Visitor() = default;
  /// A tensor that is trained: one that requires a gradient, as `Tensor scale = ones({8}).requires_grad_()`
  /// and those of nn/init.h do. One that does not is part of the state, but optimizers pass it over.
  virtual void parameter(const std::string& name, Tensor& value) = 0;
  /// A tensor that belongs to the state but is not trained (running statistics).
  virtual void buffer(const std::string& name, Tensor& value) = 0;
  virtual void module(const std::string& name, Module& child) = 0;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Tells a batch norm in each training pass with whom it normalises one batch; null: with nobody.
using FindPeers = std::function<std::shared_ptr<const kernels::BatchPeers>()>;

class Module {
 public:
  Module() : shared_(make_ref<Shared>()) {}
  virtual ~Module() = default;

  /// Shows each parameter, buffer and child to `visitor`, always in the same order. The default has none.
  virtual void members(Visitor& visitor);
  /// A copy that shares this module's tensors. Layer<Derived> provides it.
  virtual std::unique_ptr<Module> copy() const = 0;
  /// How the module prints, without its children: "Linear(in_features=2, out_features=3)"; by default the
  /// name of its type and "()".
  virtual std::string describe() const;

  /// The parameters, each once (a tied one where it is met first), as handles: what optimizers take.
  std::vector<Tensor> parameters() const;
  /// Like parameters(), with dotted names: "features.0.weight".
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  int64_t num_parameters() const;

  /// All parameters and buffers by dotted name, as handles, tied ones under each name; for
  /// save_safetensors().
  TensorMap state_dict() const;
  /// Copies values into the module's tensors, converting dtypes. Throws Error with all names that are
  /// missing, unexpected, undefined or of another shape, before anything is copied. Without `strict`, missing
  /// and unexpected names are passed over.
  void load_state_dict(const TensorMap& state, bool strict = true) const;
  /// Throws what load_state_dict() would throw; changes nothing.
  void check_state_dict(const TensorMap& state, bool strict = true) const;

  /// Moves, or converts floating-point tensors. The data is replaced inside each tensor, so optimizers and
  /// hooks keep their handles.
  void to(Device device) const;
  void to(DType dtype) const;
  /// Switches dropout, batch norm and the like between training and evaluation, children included.
  void train(bool on = true) const;
  void eval() const { train(false); }
  bool is_training() const { return shared_->training; }
  /// Freezes (false) or thaws all parameters.
  void requires_grad_(bool on = true) const;
  /// Drops all gradients.
  void zero_grad() const;

  /// Calls action(dotted name, tensor) for each parameter and buffer; it may replace the tensor.
  void each_tensor(const std::function<void(const std::string&, Tensor&)>& action);
  /// Calls action(dotted name, module) for this module (named "") and everything below, parents first.
  void each_module(const std::function<void(const std::string&, Module&)>& action);

 protected:
  // What SyncBatchNorm sets in a batch norm, and all copies of it have in common.
  const FindPeers& find_peers() const { return shared_->find_peers; }
  void set_find_peers(FindPeers find) const { shared_->find_peers = std::move(find); }

 private:
  // What all copies of a module have in common besides its tensors.
  struct Shared : RefCounted {
    bool training = true;
    FindPeers find_peers;
  };
  friend void make_independent(Module& module);

  Ref<Shared> shared_;
};

/// Gives `module` and everything below it tensors (ties survive) and a training flag of its own. For clone().
void make_independent(Module& module);

/// The profiler's scope of a module's forward pass.
class ModuleScope : public ProfileScope {
 public:
  [[nodiscard]] explicit ModuleScope(const Module& module) {
    if (is_profiling()) [[unlikely]]
      begin(module);
  }

 private:
  void begin(const Module& module);
};

/// Inside a catch block: throws the Error that came out of `module`'s forward pass anew, with the module
/// named in front of its text: "features.0, Linear(in_features=2, out_features=3, bias=true): linear: …", as
/// seen from the outermost module that it comes out of.
[[noreturn]] void rethrow_from(const Module& module);

/// Calls `body`, the forward pass of `module`: as an event of its own in profiles, and so that errors name
/// it.
template <class Body>
auto run_module(const Module& module, Body&& body) {
  const ModuleScope scope(module);
  try {
    return body();
  } catch (const Error&) {
    rethrow_from(module);
  }
}

/// What a layer derives from: knows how to copy a Derived, and calls its forward() with any arguments.
template <class Derived>
class Layer : public Module {
 public:
  std::unique_ptr<Module> copy() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) {
    return run_module(
        *this, [&] { return static_cast<Derived&>(*this).forward(std::forward<Arguments>(arguments)...); });
  }
};

/// The same module with tensors of its own; tensors that are shared inside it stay shared.
template <std::derived_from<Module> M>
M clone(const M& module) {
  M result = module;
  make_independent(result);
  return result;
}

/// Prints the tree of modules, as PyTorch does.
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace tern::nn
