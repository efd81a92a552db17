// Modules one after another.
//
// Sequential sees what stands side by side and runs it in one pass where a kernel serves it: Conv2d, ReLU,
// MaxPool2d(2); Conv2d, ReLU; Flatten, Linear (without reordering channels-last images). Values and gradients
// are those of the single steps.
#pragma once

#include <tern/nn/module.h>

namespace tern::nn {

/// A module of any type that has forward(const Tensor&), held by value: copying copies the module, which
/// shares tensors.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  requires requires(M& module, const Tensor& x) {
    { module.forward(x) } -> std::convertible_to<Tensor>;
  }
  AnyModule(M module)
      : module_(std::make_unique<M>(std::move(module))),
        forward_([](Module& self, const Tensor& x) -> Tensor {
          return run_module(self, [&]() -> Tensor { return static_cast<M&>(self).forward(x); });
        }) {}
  AnyModule(const AnyModule& other) : module_(other.module_->copy()), forward_(other.forward_) {}
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(AnyModule other) noexcept {
    module_ = std::move(other.module_);
    forward_ = other.forward_;
    return *this;
  }

  Tensor operator()(const Tensor& x) const { return forward_(*module_, x); }
  Module& operator*() const { return *module_; }
  Module* operator->() const { return module_.get(); }
  /// The module as an M, or null when it is of another type (a type derived from M included).
  template <class M>
  M* as() const {
    Module& module = *module_;
    return typeid(module) == typeid(M) ? static_cast<M*>(&module) : nullptr;
  }

 private:
  std::unique_ptr<Module> module_;
  Tensor (*forward_)(Module&, const Tensor&);
};

/// Its children are named "0", "1", …, as in PyTorch.
class Sequential : public Layer<Sequential> {
 public:
  template <class... Modules>
  requires(std::convertible_to<Modules, AnyModule>&&...) explicit Sequential(Modules... modules) {
    layers_.reserve(sizeof...(modules));
    (layers_.emplace_back(std::move(modules)), ...);
  }
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;

  void push_back(AnyModule module) { layers_.push_back(std::move(module)); }
  size_t size() const { return layers_.size(); }
  /// Throws Error when there is no such child.
  AnyModule& operator[](size_t i);

 private:
  size_t step(size_t i, Tensor& x);

  std::vector<AnyModule> layers_;
};

}  // namespace tern::nn
