#include <tern/optim/optimizer.h>

#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>

#include <algorithm>
#include <set>

namespace tern::optim {
namespace {

// Copies options and state into a map.
class Saver : public StateVisitor {
 public:
  Saver(TensorMap& state, const std::string& prefix) : state_(state), prefix_(prefix) {}
  void number(const std::string& name, double& value) override { put(name, full({}, value, float64)); }
  void flag(const std::string& name, bool& value) override { put(name, full({}, value, boolean)); }
  void count(const std::string& name, int64_t& value) override {
    if (value > 0) put(name, full({}, value, int64));
  }
  void tensor(const std::string& name, Tensor& value) override {
    if (value.defined()) put(name, value);
  }

 private:
  void put(const std::string& name, const Tensor& value) { state_[prefix_ + name] = value; }

  TensorMap& state_;
  const std::string& prefix_;
};

// First compares a map with what there is, then, when nothing is wrong, takes the values over.
class Loader : public StateVisitor {
 public:
  Loader(const TensorMap& state, const std::string& prefix, const Tensor* const& parameter)
      : state_(state), prefix_(prefix), parameter_(parameter) {}
  bool apply = false;
  std::string problems;
  std::set<std::string> known;

  void number(const std::string& name, double& value) override { option(name, value); }
  void flag(const std::string& name, bool& value) override { option(name, value); }
  void count(const std::string& name, int64_t& value) override {
    const Tensor* found = find_number(name);
    if (apply) value = found ? found->item<int64_t>() : 0;
  }
  void tensor(const std::string& name, Tensor& value) override {
    const Tensor* found = find(name);
    if (found && found->shape() != parameter_->shape())
      problems += " of another shape: " + prefix_ + name + ";";
    if (!apply) return;
    value = Tensor();
    if (!found) return;
    // Of a dtype that steps accept: a model may have been converted since its state was saved.
    const bool wider = is_reduced_floating_point(parameter_->dtype()) && found->dtype() == float32;
    value = empty_like(*parameter_, wider ? float32 : parameter_->dtype());
    kernels::copy(kernels::to(*found, parameter_->device()), value);
  }

 private:
  const Tensor* find(const std::string& name) {
    const auto found = state_.find(*known.insert(prefix_ + name).first);
    return found == state_.end() ? nullptr : &found->second;
  }
  const Tensor* find_number(const std::string& name) {
    const Tensor* found = find(name);
    if (found && found->numel() != 1) problems += " of another shape: " + prefix_ + name + ";";
    return found;
  }
  template <class T>
  void option(const std::string& name, T& value) {
    const Tensor* found = find_number(name);
    if (!found)
      problems += " missing: " + prefix_ + name + ";";
    else if (apply)
      value = found->item<T>();
  }

  const TensorMap& state_;
  const std::string& prefix_;
  const Tensor* const& parameter_;
};

}  // namespace

void Optimizer::zero_grad() {
  for (const Tensor& parameter : parameters_) parameter.set_grad(Tensor());
}

void Optimizer::set_lr(double lr) {
  for (size_t group = 0; group < num_groups(); ++group) set_lr(lr, group);
}

size_t Optimizer::checked(size_t group) const {
  check(group < num_groups(), "optimizer: there is no group ", group, " among ", num_groups());
  return group;
}

void Optimizer::add_parameters(const std::vector<Tensor>& params) {
  check(!params.empty(), "optimizer: a group has no parameters");
  for (const Tensor& parameter : params) {
    check(parameter.defined() && parameter.is_leaf() && is_floating_point(parameter.dtype()),
          "optimizer: parameters must be floating-point leaves");
    const bool twice = std::any_of(parameters_.begin(), parameters_.end(),
                                   [&](const Tensor& p) { return p.is_same(parameter); });
    check(!twice, "optimizer: a parameter of shape ", parameter.shape(), " was given twice");
    parameters_.push_back(parameter);
  }
}

void Optimizer::visit(StateVisitor& visitor, std::string& prefix, const Tensor*& parameter) {
  for (size_t group = 0; group < num_groups(); ++group) {
    prefix = "group." + std::to_string(group) + ".";
    visit_options(group, visitor);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    prefix = "state." + std::to_string(i) + ".";
    parameter = &parameters_[i];
    visit_state(i, visitor);
  }
}

TensorMap Optimizer::state_dict() const {
  TensorMap state;
  std::string prefix;
  const Tensor* parameter = nullptr;
  Saver saver(state, prefix);
  const_cast<Optimizer*>(this)->visit(saver, prefix, parameter);  // the saver only reads
  return state;
}

void Optimizer::load_state_dict(const TensorMap& state) {
  std::string prefix;
  const Tensor* parameter = nullptr;
  Loader loader(state, prefix, parameter);
  visit(loader, prefix, parameter);
  for (const auto& [name, tensor] : state) {
    if (!loader.known.contains(name)) loader.problems += " unexpected: " + name + ";";
  }
  check(loader.problems.empty(), "load_state_dict: the state does not fit the optimizer;", loader.problems);
  loader.apply = true;
  visit(loader, prefix, parameter);
}

}  // namespace tern::optim
