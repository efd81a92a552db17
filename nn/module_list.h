// A list of modules of one type, called one by one.
//
//   nn::ModuleList<Block> blocks = nn::ModuleList<Block>::repeat(12, [] { return Block(768); });
//   for (Block& block : blocks) x = block(x, mask);
#pragma once

#include <tern/nn/module.h>

#include <string>
#include <utility>
#include <vector>

namespace tern::nn {

/// Its children are named "0", "1", …, as in PyTorch. Copying shares their tensors.
template <std::derived_from<Module> M>
class ModuleList : public Layer<ModuleList<M>> {
 public:
  ModuleList() = default;
  explicit ModuleList(std::vector<M> modules) : modules_(std::move(modules)) {}
  /// What `count` calls of `make` give: modules with parameters of their own, unlike copies of one.
  template <class Make>
  static ModuleList repeat(int64_t count, Make make) {
    check(count >= 0, "ModuleList: the count must not be negative, got ", count);
    std::vector<M> modules;
    modules.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) modules.push_back(make());
    return ModuleList(std::move(modules));
  }

  void push_back(M module) { modules_.push_back(std::move(module)); }
  int64_t size() const { return static_cast<int64_t>(modules_.size()); }
  /// Throws Error when there is no such child.
  M& operator[](int64_t i) {
    check(i >= 0 && i < size(), "ModuleList: there is no module ", i, " among ", size());
    return modules_[static_cast<size_t>(i)];
  }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  void members(Visitor& visitor) override {
    for (size_t i = 0; i < modules_.size(); ++i) visitor.module(std::to_string(i), modules_[i]);
  }
  std::string describe() const override { return "ModuleList()"; }

 private:
  std::vector<M> modules_;
};

}  // namespace tern::nn
